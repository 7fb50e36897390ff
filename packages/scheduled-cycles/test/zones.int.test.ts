import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readingAt } from './fuzz/clock-tape.ts';

// Cycles are planned by the zones of Node, the days of reminders told by those of PostgreSQL: two copies of the IANA data, of one age or not.

let own: TestDb;
beforeAll(async () => {
  own = await testDb();
});
afterAll(() => own?.[Symbol.asyncDispose]());

const ZONES = Intl.supportedValuesOf('timeZone');

/** What PostgreSQL's clocks show, as minutes since 1970, for each pair of a zone and an instant. */
const shown = (pairs: readonly (readonly [zone: string, at: number])[]) =>
  columnOf(
    own.db,
    `select (extract(epoch from to_timestamp(at / 1000.0) at time zone zone) / 60)::bigint from unnest($1::text[], $2::float8[]) with ordinality as asked (zone, at, n) order by n`,
    [pairs.map(([zone]) => zone), pairs.map(([, at]) => at)],
  );

async function differing(zones: readonly string[], instants: readonly number[]): Promise<string[]> {
  const pairs = zones.flatMap((zone) => instants.map((at) => [zone, at] as const));
  const theirs = await shown(pairs);
  return [
    ...new Set(
      pairs.filter(([zone, at], n) => readingAt(zone, at) / 60_000 !== Number(theirs[n])).map(([zone]) => zone),
    ),
  ];
}

const days = (from: string, until: string): number[] => {
  const found: number[] = [];
  for (let at = Date.parse(from); at < Date.parse(until); at += 11 * 86_400_000) found.push(at);
  return found;
};

test('PostgreSQL knows each zone that a rule may name', async () => {
  const known = new Set(
    await columnOf(own.db, `select zone from unnest($1::text[]) as zone where usable_zone(zone) is not null`, [ZONES]),
  );
  expect(ZONES.filter((zone) => !known.has(zone))).toEqual([]);
});

test('in what is past both copies of the zones show the same', async () => {
  expect(await differing(ZONES, days('2019-01-01', '2024-01-01'))).toEqual([]);
});

test('in what is to come they differ only where a country has changed its mind since the older copy, and never where it has not in years', async () => {
  const settled = [
    'Asia/Tokyo',
    'Asia/Bangkok',
    'Asia/Taipei',
    'Asia/Kathmandu',
    'Europe/Berlin',
    'Australia/Lord_Howe',
    'America/New_York',
  ];
  const instants = days('2027-01-01', '2030-01-01');
  expect(await differing(settled, instants)).toEqual([]);
  const others = await differing(ZONES, instants);
  expect(others.length, `differ: ${others.join(', ')}`).toBeLessThan(ZONES.length / 10);
});
