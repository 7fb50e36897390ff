import { BROADCAST } from '../support.ts';
import { at, LID, type Story } from './story.ts';
import { EVERYONE, HOURS, STOP, sendWell, type Tale, testTales } from './tales.ts';

testTales({
  H1: [
    ['each user received once', [], (story) => sendWell(story, [1, 2])],
    [
      'a repeated request with the same key that LINE answers 409',
      [],
      (story) => {
        sendWell(story);
        story.line({ status: 409 });
      },
    ],
    [
      'a second accept of the same send',
      ['H1'],
      (story) => {
        sendWell(story, [1, 2]);
        story.line({ key: 2, users: [2] });
      },
    ],
    [
      'a user named twice in one request',
      ['H1'],
      (story) => {
        sendWell(story);
        story.line({ users: [1], key: null });
      },
    ],
    [
      'another send to the same user',
      [],
      (story) => {
        sendWell(story);
        story.plan([1], { lid: 'c:2:1' });
        story.line({ key: 2, lid: 'c:2:1' });
        story.say('accepted', { lid: 'c:2:1', key: 2 });
      },
    ],
    [
      'a broadcast that was accepted twice',
      ['H1'],
      (story) => {
        story.record({ kind: 'planned', ...EVERYONE });
        story.record({ kind: 'state', ...EVERYONE, state: 'accepted' });
        story.line({ path: BROADCAST, users: [] });
        story.line({ path: BROADCAST, users: [], key: 2 });
      },
    ],
  ],
  H2: [
    [
      'accepted, and blocked at LINE',
      [],
      (story) => {
        story.plan([1, 2]);
        story.line({ users: [1, 2], blocked: [2] });
        story.say('accepted', { users: [1, 2] });
      },
    ],
    [
      'accepted, and dropped by LINE',
      [],
      (story) => {
        story.plan();
        story.line({ dropped: true });
        story.say('accepted');
      },
    ],
    [
      'accepted without a key, and dropped by LINE',
      [],
      (story) => {
        story.plan();
        story.line({ dropped: true, key: null });
        story.say('accepted', { key: null });
      },
    ],
    [
      'accepted, and LINE dropped another send',
      ['H2'],
      (story) => {
        story.plan();
        story.line({ dropped: true, key: 2 });
        story.say('accepted');
      },
    ],
    [
      'accepted on a 429',
      ['H2'],
      (story) => {
        story.plan();
        story.line({ status: 429 });
        story.say('accepted');
      },
    ],
    [
      'one of a chunk left out',
      ['H2'],
      (story) => {
        story.plan([1, 2]);
        story.line({ users: [1] });
        story.say('accepted', { users: [1, 2] });
      },
    ],
    [
      'a broadcast called accepted that LINE never accepted',
      ['H2'],
      (story) => {
        story.record({ kind: 'planned', ...EVERYONE });
        story.record({ kind: 'state', ...EVERYONE, state: 'accepted' });
      },
    ],
  ],
  H3: [
    [
      'received and not planned',
      ['H3'],
      (story) => {
        story.plan([1]);
        story.line({ users: [1, 2] });
        story.say('accepted', { users: [1] });
      },
    ],
    [
      'planned under another logical id',
      ['H3'],
      (story) => {
        sendWell(story);
        story.line({ key: 2, lid: 'c:2:1' });
      },
    ],
    [
      'a broadcast that was planned reaches whoever is there',
      [],
      (story) => {
        story.record({ kind: 'planned', ...EVERYONE });
        story.record({ kind: 'state', ...EVERYONE, state: 'accepted' });
        story.line({ path: BROADCAST, users: [1, 2, 3] });
      },
    ],
    [
      'a broadcast that nobody planned',
      ['H3'],
      (story) => {
        sendWell(story);
        story.line({ path: BROADCAST, users: [2], key: 2, lid: 'c:2:1' });
      },
    ],
  ],
  H4: [
    ...(['invalid', 'skipped_blocked', 'expired', 'cancelled'] as const).flatMap((state): Tale[] => [
      [
        `${state}, and nothing received`,
        [],
        (story) => {
          story.plan();
          story.line({ status: 400 });
          story.say(state);
        },
      ],
      [
        `${state}, and received`,
        ['H4'],
        (story) => {
          story.plan();
          story.line();
          story.say(state);
        },
      ],
    ]),
    [
      'planned still, and received',
      ['H4'],
      (story) => {
        story.plan();
        story.line();
      },
      { endedAt: at(1) },
    ],
  ],
  H5: [
    ...(
      [
        ['no answer', { status: 'none', accepted: true }],
        ['a 503', { status: 503 }],
        ['a client that went away', { clientAborted: true }],
        ['a fault on the 200', { fault: 'f1' }],
        ['a fault on the 409', { fault: 'f1', status: 409, accepted: true }],
      ] as const
    ).map(
      ([name, sent]): Tale => [
        `unknown after ${name}`,
        [],
        (story) => {
          story.plan();
          story.line(sent);
          story.attempt({ outcome: 'AMBIGUOUS' });
          story.say('unknown');
        },
        { faultsEndedAt: at(30 * HOURS) },
      ],
    ),
    [
      'unknown, since the client died before it wrote an outcome',
      [],
      (story) => {
        story.plan();
        story.line();
        story.attempt({ outcome: null });
        story.say('unknown');
      },
      { faultsEndedAt: at(30 * HOURS) },
    ],
    [
      'unknown after a request that LINE never saw',
      [],
      (story) => {
        story.plan();
        story.attempt({ outcome: 'AMBIGUOUS' });
        story.say('unknown');
      },
      { faultsEndedAt: at(30 * HOURS) },
    ],
    ...(
      [
        ['a clean refusal', (story) => story.line({ status: 400 })],
        ['a fault that refuses', (story) => story.line({ status: 429, fault: 'f1' })],
        ['a whole 200', (story) => story.line()],
        ['doubt about another key', (story) => story.line({ key: 2, status: 503 })],
      ] as [string, (story: Story) => void][]
    ).map(
      ([name, tell]): Tale => [
        `unknown after ${name}`,
        ['H5'],
        (story) => {
          story.plan();
          tell(story);
          story.say('unknown');
        },
      ],
    ),
    ...(
      [
        ['given up in time', 2, ['H5']],
        ['given up when its time was over', 3, []],
      ] as const
    ).map(
      ([name, until, broken]): Tale => [
        `unknown for a whole 200 that the client has not read, ${name}`,
        broken,
        (story) => {
          story.plan();
          story.line();
          story.attempt({ outcome: 'AMBIGUOUS', minute: 0, until });
          story.say('unknown');
        },
        { faultsEndedAt: at(30 * HOURS), attemptTimeoutMs: 180_000 },
      ],
    ),
    [
      'unknown for a refusal that the client calls ambiguous',
      ['H5'],
      (story) => {
        story.plan();
        story.line({ status: 429 });
        story.attempt({ outcome: 'AMBIGUOUS' });
        story.say('unknown');
      },
      { faultsEndedAt: at(30 * HOURS) },
    ],
    [
      'unknown without any key',
      ['H5'],
      (story) => {
        story.plan();
        story.say('unknown', { key: null });
      },
    ],
  ],
  H6: [
    [
      'unknown, though LINE was well an hour before the key was given up',
      ['H6'],
      (story) => {
        story.plan();
        story.line({ status: 503 });
        story.attempt({ outcome: 'AMBIGUOUS' });
        story.say('unknown');
      },
      { faultsEndedAt: at(22 * HOURS) },
    ],
    [
      'unknown, and LINE was well for less than an hour',
      [],
      (story) => {
        story.plan();
        story.line({ status: 503 });
        story.attempt({ outcome: 'AMBIGUOUS' });
        story.say('unknown', { minute: 23 * HOURS });
      },
      { faultsEndedAt: at(22 * HOURS + 1) },
    ],
    [
      'unknown, and LINE goes on refusing the key',
      [],
      (story) => {
        story.plan();
        story.line({ status: 503, accepted: true });
        story.line({ status: 400, minute: 60 });
        story.attempt({ outcome: 'AMBIGUOUS' });
        story.say('unknown', { minute: 23 * HOURS });
      },
    ],
    [
      'unknown, and it was a fault that refused the key',
      ['H6'],
      (story) => {
        story.plan();
        story.line({ status: 503, accepted: true });
        story.line({ status: 400, minute: 60, fault: 'f2' });
        story.attempt({ outcome: 'AMBIGUOUS' });
        story.say('unknown', { minute: 11 });
      },
    ],
  ],
  H7: [
    ['never decided', ['H7'], (story) => story.plan()],
    [
      'called planned for ever',
      ['H7'],
      (story) => {
        story.plan();
        story.say('planned');
      },
    ],
    [
      'decided late',
      ['H7'],
      (story) => {
        story.plan();
        story.line({ minute: 12 });
        story.say('accepted', { minute: 13 });
      },
    ],
    ['not due yet', [], (story) => story.plan([1], { due: 48 * HOURS - 5 })],
    ['due long ago', ['H7'], (story) => story.plan([1], { due: 47 * HOURS })],
    ['faults ended just now', [], (story) => story.plan(), { faultsEndedAt: at(48 * HOURS - 5) }],
    [
      'paused and never resumed',
      [],
      (story) => {
        story.plan();
        story.record({ ...STOP, at: at(0) });
      },
    ],
    [
      'paused, and resumed long ago',
      ['H7'],
      (story) => {
        story.plan();
        story.record({ ...STOP, lid: LID, at: at(0), until: at(60) });
      },
    ],
    [
      'cancelled, and left undecided',
      ['H7'],
      (story) => {
        story.plan();
        story.record({ ...STOP, verb: 'cancel', lid: LID, at: at(0) });
      },
    ],
  ],
});
