import { describe, expect, test } from 'vitest';
import { createCalendar } from '../src/calendar.ts';
import { runs } from './runs.ts';

// What other schedulers got wrong.

/** [what, cron, zone, asked after, what must come then] */
type Golden = readonly [what: string, cron: string, timezone: string, after: string, expected: readonly string[]];

test.for<Golden>([
  [
    'every half hour goes on through the hour that comes twice in Melbourne [SEM-002]',
    ...(['*/30 * * * *', 'Australia/Melbourne', '2024-04-06T14:45Z'] as const),
    ['2024-04-06T15:00', '2024-04-06T15:30', '2024-04-06T16:00', '2024-04-06T16:30', '2024-04-06T17:00'],
  ],
  [
    'noon is found beyond a day whose midnight is not there [SEM-005]',
    ...(['0 12 11,26 * *', 'America/Sao_Paulo', '2014-10-12T00:00Z'] as const),
    ['2014-10-26T14:00', '2014-11-11T14:00'],
  ],
  [
    'noon on each of the days around one whose midnight is not there [SEM-005]',
    ...(['0 12 * * *', 'Africa/Cairo', '2026-04-23T00:00Z'] as const),
    ['2026-04-23T10:00', '2026-04-24T09:00', '2026-04-25T09:00'],
  ],
  [
    'in the hour that comes twice the next minute is a minute later [SEM-013]',
    ...(['* * * * *', 'America/Los_Angeles', '2025-11-02T09:10Z'] as const),
    ['2025-11-02T09:11', '2025-11-02T09:12'],
  ],
  [
    'a midnight that is not there comes when the day begins [SEM-015]',
    ...(['0 0 * * *', 'America/Santiago', '2026-09-05T12:00Z'] as const),
    ['2026-09-06T04:00', '2026-09-07T03:00'],
  ],
  [
    'and so it did in 2022 [SEM-015]',
    ...(['0 0 * * *', 'America/Santiago', '2022-09-10T12:00Z'] as const),
    ['2022-09-11T04:00', '2022-09-12T03:00'],
  ],
  [
    'after the change there are Sundays at half past two still [SEM-017]',
    ...(['30 2 * * 7', 'Europe/Rome', '2025-03-29T00:00Z'] as const),
    ['2025-03-30T01:30', '2025-04-06T00:30'],
  ],
  [
    'and at three, which is there [SEM-017]',
    ...(['0 3 * * 7', 'Europe/Rome', '2025-03-29T00:00Z'] as const),
    ['2025-03-30T01:00', '2025-04-06T01:00'],
  ],
  [
    'and at four [SEM-017]',
    ...(['0 4 * * 7', 'Europe/Rome', '2025-03-29T00:00Z'] as const),
    ['2025-03-30T02:00', '2025-04-06T02:00'],
  ],
  [
    'two o’clock on the day without it comes at three, and once [SEM-020]',
    ...(['0 2 * * *', 'US/Pacific', '2025-03-08T12:00Z'] as const),
    ['2025-03-09T10:00', '2025-03-10T09:00'],
  ],
  [
    'each hour of the day with 25 comes once [SEM-021]',
    ...(['0 * * * *', 'America/New_York', '2025-11-02T03:30Z'] as const),
    ['2025-11-02T04:00', '2025-11-02T05:00', '2025-11-02T06:00', '2025-11-02T07:00', '2025-11-02T08:00'],
  ],
  [
    'asked at the first instant that comes again, the next one lies ahead [SEM-023]',
    ...(['30 * * * *', 'America/Sao_Paulo', '2016-02-21T02:00Z'] as const),
    ['2016-02-21T02:30', '2016-02-21T03:30'],
  ],
  [
    'nine o’clock is that of the zone, not of UTC [SEM-029]',
    ...(['0 9 * * *', 'Asia/Bangkok', '2026-01-01T00:00Z'] as const),
    ['2026-01-01T02:00', '2026-01-02T02:00'],
  ],
  [
    'a quarter to the hour stays one where clocks are off by 45 minutes',
    ...(['45 9 * * *', 'Asia/Kathmandu', '2026-01-01T00:00Z'] as const),
    ['2026-01-01T04:00', '2026-01-02T04:00'],
  ],
  [
    'at the end of Ramadan in Casablanca, too, a time that is left out comes later by the jump',
    ...(['30 2 * * *', 'Africa/Casablanca', '2026-03-21T12:00Z'] as const),
    ['2026-03-22T02:30', '2026-03-23T01:30'],
  ],
  [
    'the 31st comes in the months that have one',
    ...(['0 9 31 * *', 'Asia/Tokyo', '2026-01-01T00:00Z'] as const),
    ['2026-01-31T00:00', '2026-03-31T00:00', '2026-05-31T00:00', '2026-07-31T00:00'],
  ],
  [
    'the 29th and 30th come in February as far as it goes',
    ...(['0 9 29,30 * *', 'Asia/Tokyo', '2028-01-30T00:00Z'] as const),
    ['2028-02-29T00:00', '2028-03-29T00:00', '2028-03-30T00:00'],
  ],
  [
    'over a year that has no 29th of February although four divides it',
    ...(['0 9 29 2 *', 'Asia/Tokyo', '2095-01-01T00:00Z'] as const),
    ['2096-02-29T00:00', '2104-02-29T00:00'],
  ],
])('%s', ([, cron, timezone, after, expected]) => {
  expect(runs({ cron, timezone }, after, expected.length)).toEqual(expected);
});

test('through the night with 25 hours no minute is left out and none comes twice [SEM-014]', {
  timeout: 60_000,
}, () => {
  const found = runs({ cron: '* * * * *', timezone: 'Europe/Vienna' }, '2026-10-24T23:55:00Z', 75);
  const minutes = found.map((at) => Date.parse(`${at}Z`) / 60_000);
  expect(minutes).toEqual(minutes.map((_, n) => (minutes[0] ?? 0) + n));
});

test('looking back from beyond the gap finds what came in its place, and no day is passed over [SEM-018]', () => {
  const calendar = createCalendar({ cron: '0 2 * * *', timezone: 'America/New_York' });
  const back = calendar.latest(2, { after: new Date(0), upTo: new Date('2020-03-08T07:01:00Z') });
  expect(back.map((at) => at.toISOString())).toEqual(['2020-03-07T07:00:00.000Z', '2020-03-08T07:00:00.000Z']);
  expect(back.map((at) => calendar.next(new Date(at.getTime() - 1_000)))).toEqual(back);
});

test('a weekly midnight, one of which is not there, goes on for a year [SEM-024]', () => {
  const found = runs({ cron: '0 0 * * 0', timezone: 'America/Santiago' }, '2022-08-01T00:00Z', 53);
  expect(found).toEqual([...new Set(found)].sort());
  expect(found).toHaveLength(53);
});

describe('what becomes of a time of day that a change of the clocks moves is said by the rule', () => {
  const day = (gap: 'after' | 'skip', repeated: 'first' | 'last' | 'both', of: string) =>
    runs({ cron: '30 2 * * *', timezone: 'Europe/Berlin', gap, repeated }, `${of}T00:00Z`, 2);

  test.for<['after' | 'skip', 'first' | 'last' | 'both', string[], string[]]>([
    ['after', 'first', ['2026-03-29T01:30', '2026-03-30T00:30'], ['2026-10-25T00:30', '2026-10-26T01:30']],
    ['after', 'last', ['2026-03-29T01:30', '2026-03-30T00:30'], ['2026-10-25T01:30', '2026-10-26T01:30']],
    ['after', 'both', ['2026-03-29T01:30', '2026-03-30T00:30'], ['2026-10-25T00:30', '2026-10-25T01:30']],
    ['skip', 'first', ['2026-03-30T00:30', '2026-03-31T00:30'], ['2026-10-25T00:30', '2026-10-26T01:30']],
    ['skip', 'last', ['2026-03-30T00:30', '2026-03-31T00:30'], ['2026-10-25T01:30', '2026-10-26T01:30']],
    ['skip', 'both', ['2026-03-30T00:30', '2026-03-31T00:30'], ['2026-10-25T00:30', '2026-10-25T01:30']],
  ])('%s and %s [SEM-022]', ([gap, repeated, spring, autumn]) => {
    expect(day(gap, repeated, '2026-03-29')).toEqual(spring);
    expect(day(gap, repeated, '2026-10-25')).toEqual(autumn);
  });
});

test('a time that only ever falls into a gap is never, and the search for it ends', () => {
  const lastSundayOfMarch = { cron: '30 2 * 3 0L', timezone: 'Europe/Berlin' };
  expect(runs({ ...lastSundayOfMarch, gap: 'skip' }, '2026-01-01T00:00Z', 1)).toEqual([]);
  expect(runs(lastSundayOfMarch, '2026-01-01T00:00Z', 1)).toEqual(['2026-03-29T01:30']);
});

test('after a day that a zone never had the last minutes before now are found', () => {
  const calendar = createCalendar({ cron: '* * * * *', timezone: 'Pacific/Apia' });
  const upTo = new Date('2011-12-30T10:02:30Z');
  const found = calendar.latest(4, { after: new Date('2011-12-29T00:00Z'), upTo });
  expect(found.map((at) => at.toISOString().slice(11, 16))).toEqual(['09:59', '10:00', '10:01', '10:02']);
});

test('what was missed since an instant is found without reading what lies before it', () => {
  const calendar = createCalendar({ cron: '0 9 * * *', timezone: 'Asia/Tokyo' });
  const upTo = new Date('2026-01-03T00:00Z');
  expect(calendar.latest(100, { after: new Date(upTo.getTime() - 1), upTo })).toEqual([upTo]);
  expect(calendar.latest(100, { after: upTo, upTo })).toEqual([]);
});
