import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

let own: TestDb;
beforeAll(async () => {
  own = await testDb();
});
afterAll(() => own[Symbol.asyncDispose]());

type Case = [what: string, at: string, zone: string, hours: string, until: string | null];
const CASES: Case[] = [
  ['before midnight', '2026-03-01T23:30:00+09:00', 'Asia/Tokyo', '22:00-07:00', '2026-03-02T07:00:00+09:00'],
  ['after midnight', '2026-03-02T03:00:00+09:00', 'Asia/Tokyo', '22:00-07:00', '2026-03-02T07:00:00+09:00'],
  ['the first instant', '2026-03-01T22:00:00+09:00', 'Asia/Tokyo', '22:00-07:00', '2026-03-02T07:00:00+09:00'],
  ['the last instant', '2026-03-02T06:59:59.999999+09:00', 'Asia/Tokyo', '22:00-07:00', '2026-03-02T07:00:00+09:00'],
  ['the end itself', '2026-03-02T07:00:00+09:00', 'Asia/Tokyo', '22:00-07:00', null],
  ['the day', '2026-03-01T12:00:00+09:00', 'Asia/Tokyo', '22:00-07:00', null],
  ['a siesta', '2026-03-01T13:30:00+07:00', 'Asia/Bangkok', '13:00-15:00', '2026-03-01T15:00:00+07:00'],
  ['after a siesta', '2026-03-01T15:00:00+07:00', 'Asia/Bangkok', '13:00-15:00', null],
  ['until midnight', '2026-03-01T23:00:00+09:00', 'Asia/Tokyo', '22:00-00:00', '2026-03-02T00:00:00+09:00'],
  [
    'a night an hour shorter',
    '2026-03-08T00:00:00-05:00',
    'America/New_York',
    '22:00-07:00',
    '2026-03-08T07:00:00-04:00',
  ],
  [
    'a night an hour longer',
    '2026-11-01T00:00:00-04:00',
    'America/New_York',
    '22:00-07:00',
    '2026-11-01T07:00:00-05:00',
  ],
  [
    'an end that is skipped',
    '2026-03-08T01:00:00-05:00',
    'America/New_York',
    '22:00-02:30',
    '2026-03-08T03:30:00-04:00',
  ],
  [
    'an end that comes twice, before the first',
    '2026-11-01T00:30:00-04:00',
    'America/New_York',
    '22:00-01:30',
    '2026-11-01T01:30:00-04:00',
  ],
  [
    'an end that comes twice, before the second',
    '2026-11-01T01:15:00-05:00',
    'America/New_York',
    '22:00-01:30',
    '2026-11-01T01:30:00-05:00',
  ],
  [
    'a change of half an hour',
    '2026-10-04T01:00:00+10:30',
    'Australia/Lord_Howe',
    '22:00-07:00',
    '2026-10-04T07:00:00+11:00',
  ],
];

test.for(CASES)('quiet hours, %s', async ([, at, zone, hours, until]) => {
  const [from, to] = hours.split('-');
  const found = await columnOf(own.db, 'select quiet_until($1, $2, $3, $4) = $5', [at, zone, from, to, until]);
  const isNone = await columnOf(own.db, 'select quiet_until($1, $2, $3, $4) is null', [at, zone, from, to]);
  expect(until === null ? isNone : found).toEqual(['true']);
});

test('every minute around the changes of clocks: the end of quiet hours is later, and lies in none', async () => {
  const wrong = await columnOf(
    own.db,
    `select format('%s %s %s-%s: %s', zone, at, quiet_from, quiet_to, ends)
       from unnest(array['America/New_York', 'Europe/Dublin', 'Australia/Lord_Howe', 'America/Sao_Paulo', 'Africa/Casablanca', 'Asia/Tehran']) as zone
      cross join unnest(array['2026-03-08', '2026-03-29', '2026-04-05', '2026-10-04', '2026-10-25', '2026-11-01', '2018-11-04', '2021-09-22']::date[]) as day
      cross join generate_series(day - interval '6 hours', day + interval '20 hours', interval '7 minutes') as at
      cross join (values ('22:00', '02:30'), ('01:15', '01:45'), ('22:00', '07:00'), ('00:00', '00:30')) as hours (quiet_from, quiet_to)
      cross join lateral (select quiet_until(at, zone, quiet_from, quiet_to) as ends) as quiet
      where ends <= at or quiet_until(ends, zone, quiet_from, quiet_to) is not null or ends > at + interval '25 hours'`,
  );
  expect(wrong).toEqual([]);
});

test('the spread of a row is the same each time, differs between rows, and stays within a tenth of the window and the minutes', async () => {
  const spreads = (minutes: number, whole: string) =>
    columnOf(own.db, `select extract(epoch from spread('U' || n, n, $1, $2)) from generate_series(1, 2000) as n`, [
      minutes,
      whole,
    ]).then((cells) => cells.map(Number));
  const wide = await spreads(10, '10 hours');
  expect(await spreads(10, '10 hours')).toEqual(wide);
  expect(new Set(wide).size).toBeGreaterThan(800);
  expect(Math.min(...wide)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...wide)).toBeLessThan(600);
  expect(Math.max(...wide)).toBeGreaterThan(550);
  expect(Math.max(...(await spreads(10, '10 minutes')))).toBeLessThan(60);
  expect(new Set(await spreads(0, '10 hours'))).toEqual(new Set([0]));
});
