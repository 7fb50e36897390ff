import { expect, test } from 'vitest';
import { createAcceptedLately } from '../src/accepted-lately.ts';
import { blame, blameContent, type RefusalVerdict, type Unexplained } from '../src/blame.ts';

const MINUTE_MS = 60_000;
const ONE: Unexplained = { people: 1, isPart: false, times: 3, ownTimes: 3, accepted: 1, others: 0 };
const MANY: Unexplained = { ...ONE, people: 500 };
const blamed = { refusedFor: 'recipients' } as const;
const held = (minutes: number) => ({ holdMs: minutes * MINUTE_MS });

const ROWS: [what: string, Unexplained, RefusalVerdict][] = [
  ['one person for the first time', { ...ONE, times: 1, ownTimes: 1, accepted: 99 }, held(1)],
  ['one person for the second time', { ...ONE, times: 2, ownTimes: 2, accepted: 99 }, held(2)],
  ['one person for the third time, and others are served', ONE, blamed],
  ['one person for the third time, and nobody else is sent anything', { ...ONE, accepted: 0 }, held(4)],
  [
    'one person for the fifth time, and nobody else is sent anything',
    { ...ONE, times: 5, ownTimes: 5, accepted: 0 },
    held(16),
  ],
  [
    'one person for the fiftieth time, and nobody else is sent anything',
    { ...ONE, times: 50, ownTimes: 50, accepted: 0 },
    held(32),
  ],
  ['one person among some who are refused and many who are served', { ...ONE, accepted: 9, others: 2 }, blamed],
  ['one person among as many who are refused as are served', { ...ONE, accepted: 8, others: 2 }, held(4)],
  ['several for the first time', { ...MANY, times: 1, ownTimes: 1 }, held(1)],
  ['several for the second time, whoever else is served', { ...MANY, times: 2, ownTimes: 2, accepted: 0 }, blamed],
  ['a part of several', { ...MANY, isPart: true, ownTimes: 1 }, blamed],
  ['a part of three', { ...MANY, people: 3, isPart: true, ownTimes: 1 }, { ...blamed, partsWaitMs: MINUTE_MS }],
  ['a part of one, for the first time', { ...ONE, isPart: true, ownTimes: 1, accepted: 8 }, blamed],
  [
    'a part of one, after a whole that was refused for a reason',
    { ...ONE, isPart: true, times: 1, ownTimes: 1 },
    held(1),
  ],
];

test.for(ROWS)('a refusal without a reason of %s', ([, unexplained, verdict]) => {
  expect(blame(unexplained)).toEqual(verdict);
});

test('content that is refused without a reason while LINE takes other content is blamed at the third time', () => {
  expect([1, 2, 3].map(blameContent)).toEqual([held(1), held(2), { refusedFor: 'content' }]);
});

test('what LINE accepted is counted by account, since a moment', () => {
  let nowMs = 0;
  const lately = createAcceptedLately(() => nowMs);
  for (let n = 0; n < 300; n += 1) lately.note('1');
  lately.note('2');
  nowMs = 10_000;
  lately.note('2');
  expect([lately.since('1', 0), lately.since('1', 1_000)]).toEqual([200, 0]);
  expect([lately.since('2', 0), lately.since('2', 1_000), lately.since('3', 0)]).toEqual([2, 1, 0]);
});
