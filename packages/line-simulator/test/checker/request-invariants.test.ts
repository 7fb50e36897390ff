import type { InvariantId } from '../../src/index.ts';
import { BROADCAST, CHANNEL, PUSH } from '../support.ts';
import { at, LID } from './story.ts';
import { STOP, sendWell, type Tale, testTales } from './tales.ts';

testTales({
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
});
