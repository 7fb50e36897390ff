import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CalendarSpec, createCalendar } from '../src/calendar.ts';
import { MOST_MISSED, planCycles } from '../src/misfire.ts';
import { runs } from './runs.ts';

const at = (text: string) => new Date(text);
const BERLIN = 'Europe/Berlin';

describe('what a change of the clocks does to a calendar', () => {
  test.for<[string, CalendarSpec, string, string[]]>([
    [
      'a time of day that is jumped over comes later by the jump, once [SEM-016]',
      { cron: '30 2 * * *', timezone: BERLIN },
      '2026-03-28T12:00Z',
      ['2026-03-29T01:30', '2026-03-30T00:30'],
    ],
    [
      'or is left out',
      { cron: '30 2 * * *', timezone: BERLIN, gap: 'skip' },
      '2026-03-28T12:00Z',
      ['2026-03-30T00:30', '2026-03-31T00:30'],
    ],
    [
      'what falls on a time that is there as well is one',
      { cron: '30 2,3 * * *', timezone: BERLIN },
      '2026-03-28T12:00Z',
      ['2026-03-29T01:30', '2026-03-30T00:30', '2026-03-30T01:30'],
    ],
    [
      'a time of day that is shown twice comes the first time',
      { cron: '30 2 * * *', timezone: BERLIN },
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    [
      'or the last',
      { cron: '30 2 * * *', timezone: BERLIN, repeated: 'last' },
      '2026-10-24T12:00Z',
      ['2026-10-25T01:30', '2026-10-26T01:30'],
    ],
    [
      'or both',
      { cron: '30 2 * * *', timezone: BERLIN, repeated: 'both' },
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30', '2026-10-25T01:30', '2026-10-26T01:30'],
    ],
    [
      'every half hour goes on through the hour that is left out',
      { cron: '*/30 * * * *', timezone: BERLIN },
      '2026-03-29T00:15Z',
      ['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30'],
    ],
    [
      'and through the hour that comes twice',
      { cron: '*/30 * * * *', timezone: BERLIN },
      '2026-10-25T00:15Z',
      ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-25T02:00'],
    ],
    [
      'half an hour is a jump too',
      { cron: '15 2 * * *', timezone: 'Australia/Lord_Howe' },
      '2026-10-03T00:00Z',
      ['2026-10-03T15:45', '2026-10-04T15:15'],
    ],
    [
      'a day that a zone never had is none',
      { cron: '0 9 * * *', timezone: 'Pacific/Apia', gap: 'skip' },
      '2011-12-29T12:00Z',
      ['2011-12-29T19:00', '2011-12-30T19:00'],
    ],
    [
      'the 29th of February comes every fourth year',
      { cron: '0 9 29 2 *', timezone: 'Asia/Tokyo' },
      '2026-01-01T00:00Z',
      ['2028-02-29T00:00', '2032-02-29T00:00'],
    ],
    [
      'the last day of a month',
      { cron: '0 9 L * *', timezone: 'Asia/Tokyo' },
      '2026-01-01T00:00Z',
      ['2026-01-31T00:00', '2026-02-28T00:00', '2026-03-31T00:00'],
    ],
  ])('%s', ([, spec, after, expected]) => {
    expect(runs(spec, after, expected.length)).toEqual(expected);
  });
});

test.for<[string, string, string]>([
  ['x', 'Asia/Tokyo', 'cron "x" is invalid'],
  ['* * * * * *', 'Asia/Tokyo', 'requires exactly 5 parts'],
  ['0 9 * * 8', 'Asia/Tokyo', 'dayOfWeek'],
  ['0 9 31 2 *', 'Asia/Tokyo', 'never comes true'],
  ['0 9 * * *', 'Asia/Tokio', 'timezone "Asia/Tokio"'],
])('%s in %s is refused: %s', ([cron, timezone, message]) => {
  expect(() => createCalendar({ cron, timezone })).toThrow(message);
});

const zones = ['Asia/Tokyo', BERLIN, 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Asia/Kathmandu'];
const spec = fc.record({
  cron: fc.constantFrom('*/7 * * * *', '30 2 * * *', '0,30 1-3 * * *', '0 9 * * 1', '15 */2 * * *', '59 23 L * *'),
  timezone: fc.constantFrom(...zones),
  gap: fc.constantFrom('after', 'skip', undefined),
  repeated: fc.constantFrom('first', 'last', 'both', undefined),
} as const);
const instant = fc.date({ min: at('2020-01-01'), max: at('2030-01-01'), noInvalidDate: true });

test('looking back finds what looking ahead went through, in the same order', { timeout: 60_000 }, () => {
  fc.assert(
    fc.property(spec, instant, fc.integer({ min: 1, max: 40 }), (chosen, start, count) => {
      const calendar = createCalendar(chosen);
      const ahead: Date[] = [];
      for (let last: Date | undefined = start; ahead.length < count; ahead.push(last)) {
        last = calendar.next(last);
        if (last === undefined) return;
      }
      const last = ahead.at(-1) ?? start;
      expect(calendar.latest(count + 5, { after: start, upTo: last })).toEqual(ahead);
    }),
    { numRuns: 60 },
  );
});

describe('what becomes of cycles that were missed', () => {
  const calendar = createCalendar({ cron: '0 * * * *', timezone: 'UTC' });
  const hours = (...of: number[]) => of.map((hour) => new Date(Date.UTC(2026, 0, 1, hour)));
  const dueAt = at('2026-01-01T03:00Z');
  const now = at('2026-01-01T07:30Z');
  const plan = (misfire: 'skip' | 'latest' | 'all', catchUpHours: number) =>
    planCycles(calendar, { dueAt, now, misfire, catchUpMs: catchUpHours * 3_600_000 });

  test.for<['skip' | 'latest' | 'all', number, number[], number[]]>([
    ['latest', 1, [7], [3, 4, 5, 6]],
    ['latest', 0.25, [], [3, 4, 5, 6, 7]],
    ['all', 3, [5, 6, 7], [3, 4]],
    ['all', 100, [3, 4, 5, 6, 7], []],
    ['skip', 100, [], [3, 4, 5, 6, 7]],
  ])('%s within %d h', ([misfire, catchUpHours, run, skipped]) => {
    expect(plan(misfire, catchUpHours)).toEqual({
      ...{ runs: hours(...run), skipped: hours(...skipped), uncounted: undefined },
      nextRunAt: hours(8)[0],
    });
  });

  test('one that is opened in its minute runs, whatever the policy', () => {
    for (const misfire of ['skip', 'latest', 'all'] as const) {
      const planned = planCycles(calendar, { dueAt, now: new Date(dueAt.getTime() + 59_000), misfire, catchUpMs: 0 });
      expect(planned).toMatchObject({ runs: [dueAt], skipped: [] });
    }
  });

  test('of ten years of hours a hundred are looked at, in no time, and the others are told as one', () => {
    const startedAt = performance.now();
    const planned = planCycles(calendar, {
      ...{ dueAt: at('2016-01-01T00:00Z'), now: at('2026-01-01T00:30Z') },
      ...{ misfire: 'all', catchUpMs: 10 * 366 * 86_400_000 },
    });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(planned.runs).toHaveLength(MOST_MISSED);
    expect(planned.skipped).toEqual([]);
    expect(planned.uncounted).toEqual({ from: at('2016-01-01T00:00Z'), until: planned.runs[0] });
  });
});
