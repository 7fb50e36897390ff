import { expect, test } from 'vitest';
import { barOf, durationText, shareText } from '../src/campaigns/figures.ts';
import { clickThroughOf, pausedPeriods } from '../src/campaigns/results-figures.ts';

test.for([
  [0, '0.0 %'],
  [1, '< 0.1 %'],
  [500_000, '50.0 %'],
  [999_999, '> 99.9 %'],
  [1_000_000, '100.0 %'],
] as const)('%i of a million is told as %s, and as nothing or everything only when it is', ([part, percent]) => {
  expect(shareText(part, 1_000_000)).toBe(percent);
  const bar = barOf(part / 1_000_000);
  expect(bar === '').toBe(part === 0);
  expect(bar === '█'.repeat(24)).toBe(part === 1_000_000);
});

test.for([
  [0, '0.0 s'],
  [59.94, '59.9 s'],
  [125, '2 min 05 s'],
  [11_220, '3 h 07 min'],
] as const)('%s seconds are told as %s', ([seconds, told]) => expect(durationText(seconds)).toBe(told));

test.for([
  ['who is known is counted', { clicks: 9, people: 3, byUnknown: 0 }, 10, { least: 0.3, most: 0.3 }],
  [
    'clicks of nobody known are at least one person',
    { clicks: 5, people: 0, byUnknown: 5 },
    10,
    { least: 0.1, most: 0.5 },
  ],
  ['and may be somebody who is known', { clicks: 5, people: 2, byUnknown: 3 }, 10, { least: 0.2, most: 0.5 }],
  ['more than everybody never', { clicks: 50, people: 8, byUnknown: 30 }, 10, { least: 0.8, most: 1 }],
  ['LINE alone knows of how many', { clicks: 5, people: 2, byUnknown: 0 }, undefined, null],
  ['nobody got it', { clicks: 5, people: 2, byUnknown: 0 }, 0, null],
] as const)('the share that clicked: %s', ([, clicks, accepted, share]) => {
  expect(clickThroughOf(clicks, accepted)).toEqual(share);
});

test('a campaign was paused from each pause to what ended it', () => {
  const deeds = [
    ['pause', 1],
    ['resume', 2],
    ['edit', 3],
    ['pause', 4],
    ['cancel', 5],
    ['pause', 6],
  ].map(([what, at]) => ({
    ...{ operation: `campaign_${what}`, at: String(at), by: 'mika', reason: null, before: {}, after: {} },
  }));
  expect(pausedPeriods(deeds).map(({ from, to }) => [from, to])).toEqual([
    ['1', '2'],
    ['4', '5'],
    ['6', null],
  ]);
});
