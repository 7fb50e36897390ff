import { describe, expect, test } from 'vitest';
import { checkHistory, type HistoryReport, type InvariantId } from '../../src/index.ts';
import { BROADCAST, CHANNEL, PUSH, user } from '../support.ts';
import { at, createStory, LID, type Story } from './story.ts';

const HOURS = 60;
/** Faults ended at the start, and the story is told two days later. */
const OPTIONS = { faultsEndedAt: at(0), endedAt: at(48 * HOURS), seed: '7' };

type Tale = [name: string, broken: readonly InvariantId[], tell: (story: Story) => void, options?: object];

const broken = ({ counts }: HistoryReport) => Object.entries(counts).flatMap(([id, count]) => (count > 0 ? [id] : []));

async function report(tell: (story: Story) => void, options: object = {}) {
  const story = createStory();
  tell(story);
  return checkHistory({ ledger: story.ledger, records: story.records, ...OPTIONS, ...options });
}

/** Planned, sent, accepted and said so. */
function sendWell(story: Story, users: readonly number[] = [1]): void {
  story.plan(users);
  const requestId = story.line({ users });
  story.attempt({ requestId });
  story.say('accepted', { users });
}

const everyone = { channelId: CHANNEL, lid: LID, user: '*' };
const STOP = { kind: 'stop', verb: 'pause', channelId: CHANNEL } as const;

const TALES: Record<InvariantId, Tale[]> = {
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
        story.record({ kind: 'planned', ...everyone });
        story.record({ kind: 'state', ...everyone, state: 'accepted' });
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
        story.record({ kind: 'planned', ...everyone });
        story.record({ kind: 'state', ...everyone, state: 'accepted' });
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
        story.record({ kind: 'planned', ...everyone });
        story.record({ kind: 'state', ...everyone, state: 'accepted' });
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
  H8: [
    ...(['V1', 'V2', 'V3', 'V4', 'V5', 'V12'] as const).map(
      (code): Tale => [
        code,
        ['H8'],
        (story) => {
          sendWell(story);
          story.violation(code);
        },
      ],
    ),
    ...(['V9', 'V10', 'V11'] as const).map(
      (code): Tale => [
        `${code}, which is told and is no matter of keys,`,
        [],
        (story) => {
          sendWell(story);
          story.violation(code);
        },
      ],
    ),
    [
      'a key that is not the one of its name',
      ['H8'],
      (story) => {
        sendWell(story);
        story.attempt({ keyName: 'lrk1/2000000001/campaign/42/1/multicast/0/' });
      },
    ],
    [
      'a key that is the one of its name',
      [],
      (story) => {
        sendWell(story);
        story.record({
          kind: 'attempt',
          channelId: CHANNEL,
          lid: LID,
          retryKey: 'DC0C9433-63d6-8f8b-a3a4-9ee5d108b038',
          keyName: 'lrk1/2000000001/campaign/42/1/multicast/0/',
          requestId: null,
          acceptedRequestId: null,
          startedAt: at(0),
          finishedAt: at(0),
          outcome: 'NOT_REACHED',
        });
      },
    ],
  ],
  H9: [
    [
      '60 broadcasts in an hour',
      [],
      (story) => {
        for (let n = 0; n < 60; n += 1)
          story.line({ path: BROADCAST, users: [], key: n, lid: `b:${n}`, minute: n % 60 });
      },
    ],
    [
      '61 broadcasts in an hour',
      ['H9'],
      (story) => {
        for (let n = 0; n < 61; n += 1)
          story.line({ path: BROADCAST, users: [], key: n, lid: `b:${n}`, minute: n % 60 });
      },
    ],
    [
      '201 multicasts in a second',
      ['H9'],
      (story) => {
        for (let n = 0; n < 201; n += 1) story.line({ key: n, status: 429 });
      },
    ],
    [
      '201 pushes in a second',
      [],
      (story) => {
        for (let n = 0; n < 201; n += 1) story.line({ key: n, status: 429, path: PUSH });
      },
    ],
    [
      'V6',
      ['H9'],
      (story) => {
        sendWell(story);
        story.violation('V6');
      },
    ],
  ],
  H10: [
    [
      'a new key after the cancel of its send',
      ['H10'],
      (story) => {
        story.plan();
        story.record({ ...STOP, verb: 'cancel', lid: LID, at: at(1) });
        story.line({ minute: 2 });
        story.say('accepted');
      },
    ],
    [
      'a new key after the pause of its channel',
      ['H10'],
      (story) => {
        story.plan();
        story.record({ ...STOP, at: at(1) });
        story.line({ minute: 2, status: 429 });
      },
    ],
    [
      'the same key again after the cancel',
      [],
      (story) => {
        story.plan();
        story.line({ minute: 1, status: 503, accepted: true });
        story.record({ ...STOP, verb: 'cancel', lid: LID, at: at(1) });
        story.line({ minute: 2, status: 409 });
        story.say('accepted');
      },
    ],
    [
      'a new key after the resume',
      [],
      (story) => {
        story.plan();
        story.record({ ...STOP, at: at(1), until: at(2) });
        story.line({ minute: 2 });
        story.say('accepted');
      },
    ],
    [
      'a new key of another send',
      [],
      (story) => {
        sendWell(story);
        story.record({ ...STOP, verb: 'cancel', lid: 'c:2:1', at: at(-1) });
      },
    ],
    [
      'V8',
      ['H10'],
      (story) => {
        sendWell(story);
        story.violation('V8');
      },
    ],
  ],
  H11: [
    [
      'an accept that counts more than it delivered',
      ['H11'],
      (story) => {
        story.plan();
        story.line({ delivered: 2 });
        story.say('accepted');
      },
    ],
    ...(
      [
        [1, 0, []],
        [3, 2, []],
        [2, 0, ['H11']],
        [0, 0, ['H11']],
      ] as [number, number, InvariantId[]][]
    ).map(
      ([totalUsage, others, ids]): Tale => [
        `one delivered, ${others} of others, and LINE counting ${totalUsage}`,
        ids,
        (story) => {
          sendWell(story);
          story.record({ kind: 'consumption', channelId: CHANNEL, at: at(60), totalUsage, others });
        },
      ],
    ),
    [
      'what was delivered after LINE was asked',
      [],
      (story) => {
        sendWell(story);
        story.record({ kind: 'consumption', channelId: CHANNEL, at: at(-1), totalUsage: 0 });
      },
    ],
    ...(
      [
        [2, []],
        [1, ['H11']],
        [3, ['H11']],
      ] as [number, InvariantId[]][]
    ).map(
      ([accepted, ids]): Tale => [
        `two accepted, and ${accepted} shown`,
        ids,
        (story) => {
          sendWell(story, [1, 2]);
          story.record({ kind: 'total', channelId: CHANNEL, lid: LID, accepted });
        },
      ],
    ),
  ],
  H12: [
    [
      'the id of an accept, and of the 409 that named it',
      [],
      (story) => {
        story.plan();
        const first = story.line({ status: 503, accepted: true });
        const second = story.line({ status: 409 });
        story.attempt({ outcome: 'AMBIGUOUS', requestId: first });
        story.attempt({ outcome: 'ALREADY', requestId: second, acceptedRequestId: first });
        story.say('accepted');
      },
    ],
    [
      'a request id that LINE never gave',
      ['H12'],
      (story) => {
        sendWell(story);
        story.attempt({ requestId: 'made-up' });
      },
    ],
    [
      'the request id of another key',
      ['H12'],
      (story) => {
        sendWell(story);
        story.attempt({ requestId: story.line({ key: 2, status: 429 }) });
      },
    ],
    [
      'the id of the 409 taken for the id of the accept',
      ['H12'],
      (story) => {
        sendWell(story);
        story.attempt({ outcome: 'ALREADY', acceptedRequestId: story.line({ status: 409 }) });
      },
    ],
  ],
};

describe.each(Object.entries(TALES))('%s', (_id, tales) => {
  test.each(tales)('%s: %j', async (_name, ids, tell, options) => {
    expect(broken(await report(tell, options))).toEqual(ids);
  });
});

test('a finding says who, what, every accept and attempt, the faults and the seed', async () => {
  const { findings, ok, checked } = await report((story) => {
    story.plan();
    const first = story.line({ status: 503, accepted: true, fault: 'f6' });
    story.attempt({ outcome: 'AMBIGUOUS', requestId: first });
    const second = story.line({ key: 2, minute: 1 });
    story.attempt({ key: 2, minute: 1, requestId: second });
    story.say('accepted', { key: 2 });
  });
  expect(ok).toBe(false);
  expect(checked).toEqual({ recipients: 1, attempts: 2, requests: 2, accepts: 2, receipts: 2 });
  expect(findings).toEqual([
    {
      invariant: 'H1',
      channelId: CHANNEL,
      lid: LID,
      user: user(1),
      sentence: `${LID} for ${user(1)} was received 2 times`,
      accepts: [
        expect.objectContaining({ seq: 1, retryKey: '00000000-0000-8000-8000-000000000001', at: at(0) }),
        expect.objectContaining({ seq: 2, retryKey: '00000000-0000-8000-8000-000000000002', at: at(1) }),
      ],
      attempts: [
        expect.objectContaining({ outcome: 'AMBIGUOUS', startedAt: at(0) }),
        expect.objectContaining({ outcome: 'ACCEPTED', startedAt: at(1) }),
      ],
      faultIds: ['f6'],
      seed: '7',
    },
  ]);
});

test('of many breaches all are counted and the first are told', async () => {
  const { counts, findings } = await report((story) => {
    const users = Array.from({ length: 100 }, (_, n) => n);
    sendWell(story, users);
    story.line({ key: 2, users });
  });
  expect(counts.H1).toBe(100);
  expect(findings).toHaveLength(20);
});

test('what cannot be judged without knowing when the faults ended is said to be skipped', async () => {
  const tell = (story: Story) => story.plan();
  expect(await report(tell, { faultsEndedAt: undefined })).toMatchObject({ ok: true, skipped: ['H6', 'H7'] });
  expect(await report(tell, { endedAt: undefined })).toMatchObject({ ok: true, skipped: ['H7'] });
  expect(await report(tell, {})).toMatchObject({ ok: false, skipped: [] });
});

test.each(['requests', 'accepts', 'receipts'] as const)(
  'a ledger that lacks some of its %s is refused',
  async (table) => {
    const story = createStory();
    sendWell(story);
    story.line({ key: 2 });
    story.ledger[table]().shift();
    await expect(checkHistory({ ledger: story.ledger, records: [] })).rejects.toThrow('the ledger lacks');
  },
);
