import type { Delay, Tenant } from '@dueline/contracts';
import { columnOf, insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { each, schedule, standAt } from './support.ts';

let shared: TestDb;
beforeAll(async () => {
  shared = await testDb();
});
afterAll(() => shared[Symbol.asyncDispose]());

const reEvaluateConditions = false;
type Steps = { seconds?: number; months?: number; weeks?: number; days?: number; at?: string };
const normal = (steps: Steps): Delay => ({ mode: 'normal', ...steps, reEvaluateConditions });
const dueAt = async (delay: Delay, start: string, zone: string) =>
  (
    await columnOf(
      shared.db,
      `select to_char(delay_due($1, $2, $3) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
      [delay, start, zone],
    )
  )[0];

const LONDON = 'Europe/London';
const CALENDAR: [name: string, steps: Steps, start: string, zone: string, due: string][] = [
  ['no time at all', { seconds: 0 }, '2026-03-29T00:30:00Z', LONDON, '2026-03-29T00:30:00Z'],
  [
    'a day in seconds is 24 hours, whatever the clock does',
    { seconds: 86_400 },
    '2026-03-28T12:00:00Z',
    LONDON,
    '2026-03-29T12:00:00Z',
  ],
  ['a day over the short night is 23 hours', { days: 1 }, '2026-03-28T12:00:00Z', LONDON, '2026-03-29T11:00:00Z'],
  ['a day over the long night is 25 hours', { days: 1 }, '2026-10-24T11:00:00Z', LONDON, '2026-10-25T12:00:00Z'],
  [
    'a time that the clock skips is as much later',
    { days: 1, at: '01:30' },
    '2026-03-28T12:00:00Z',
    LONDON,
    '2026-03-29T01:30:00Z',
  ],
  [
    'a time that the clock shows twice is the second',
    { days: 1, at: '01:30' },
    '2026-10-24T12:00:00Z',
    LONDON,
    '2026-10-25T01:30:00Z',
  ],
  [
    'half an hour that Lord Howe skips',
    { days: 1, at: '02:15' },
    '2026-10-03T00:00:00Z',
    'Australia/Lord_Howe',
    '2026-10-03T15:45:00Z',
  ],
  [
    'half an hour that Lord Howe shows twice',
    { days: 1, at: '01:45' },
    '2026-04-04T00:00:00Z',
    'Australia/Lord_Howe',
    '2026-04-04T15:15:00Z',
  ],
  [
    'Bangkok knows no summer time',
    { days: 1, at: '02:30' },
    '2026-03-28T12:00:00Z',
    'Asia/Bangkok',
    '2026-03-28T19:30:00Z',
  ],
  [
    '31 January and a month is the last of February',
    { months: 1 },
    '2026-01-31T10:00:00Z',
    LONDON,
    '2026-02-28T10:00:00Z',
  ],
  ['in a leap year the 29th', { months: 1 }, '2028-01-31T10:00:00Z', LONDON, '2028-02-29T10:00:00Z'],
  ['months are counted before days', { months: 1, days: 1 }, '2026-01-31T10:00:00Z', LONDON, '2026-03-01T10:00:00Z'],
  ['29 February and a year is 28 February', { months: 12 }, '2028-02-29T10:00:00Z', LONDON, '2029-02-28T10:00:00Z'],
  ['ten years', { months: 120 }, '2026-05-31T10:00:00Z', LONDON, '2036-05-31T10:00:00Z'],
  [
    'the date is that of the zone',
    { days: 1, at: '09:00' },
    '2026-05-31T16:00:00Z',
    'Asia/Tokyo',
    '2026-06-02T00:00:00Z',
  ],
  ['the next nine o’clock is today', { at: '09:00' }, '2026-05-31T07:59:59Z', LONDON, '2026-05-31T08:00:00Z'],
  ['at nine o’clock the next one is tomorrow', { at: '09:00' }, '2026-05-31T08:00:00Z', LONDON, '2026-06-01T08:00:00Z'],
  ['a week at midnight', { weeks: 1, at: '00:00' }, '2026-05-31T22:59:59Z', LONDON, '2026-06-06T23:00:00Z'],
];

test.for(CALENDAR)('[T1] %s', async ([, steps, start, zone, due]) => {
  expect(await dueAt(normal(steps), start, zone)).toBe(due);
});

const ZONES = [
  'Europe/London',
  'Asia/Bangkok',
  'Australia/Lord_Howe',
  'America/New_York',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'America/St_Johns',
  'UTC',
];

/** When a delay is over, by the calendar of the runtime: another implementation, from another time zone database. */
function oracle({ seconds, months = 0, weeks = 0, days = 0, at }: Steps, start: Temporal.Instant, zone: string) {
  if (seconds !== undefined) return start.add({ seconds });
  const stepped = start
    .toZonedDateTimeISO(zone)
    .toPlainDateTime()
    .add({ months }, { overflow: 'constrain' })
    .add({ weeks, days });
  const [hour = 0, minute = 0] = (at ?? '').split(':').map(Number);
  const local = at === undefined ? stepped : stepped.with({ hour, minute, second: 0 });
  const instant = (time: Temporal.PlainDateTime) => time.toZonedDateTime(zone, { disambiguation: 'later' }).toInstant();
  const due = instant(local);
  return Temporal.Instant.compare(due, start) <= 0 ? instant(local.add({ days: 1 })) : due;
}

const clock = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'));
const steps: fc.Arbitrary<Steps> = fc.oneof(
  fc.record({ seconds: fc.integer({ min: 0, max: 315_360_000 }) }),
  fc
    .record(
      {
        months: fc.integer({ min: 1, max: 24 }),
        weeks: fc.integer({ min: 1, max: 60 }),
        days: fc.integer({ min: 1, max: 400 }),
        at: clock,
      },
      { requiredKeys: [] },
    )
    .filter((parts) => Object.keys(parts).length > 0),
);
/** Second by second within three hours of each change of a clock, and anywhere else. */
const starts = (zone: string) => {
  const changes: number[] = [];
  for (let at = Temporal.Instant.from('2005-01-01T00:00:00Z').toZonedDateTimeISO(zone); changes.length < 40; ) {
    const next = at.getTimeZoneTransition('next');
    if (next === null || next.year > 2027) break;
    changes.push(Math.floor(next.epochMilliseconds / 1_000));
    at = next;
  }
  const anywhere = fc.integer({ min: 1_104_537_600, max: 1_830_000_000 });
  if (changes.length === 0) return anywhere;
  const around = fc
    .tuple(fc.constantFrom(...changes), fc.integer({ min: -97_200, max: 10_800 }))
    .map(([change, by]) => change + by);
  return fc.oneof(anywhere, around);
};
const cases = fc
  .constantFrom(...ZONES)
  .chain((zone) => fc.record({ zone: fc.constant(zone), start: starts(zone), steps }));

test('[T1] every delay in every zone is over when an independent calendar says so, and never before it began', async () => {
  const sample = fc.sample(cases, { numRuns: 20_000 });
  const { rows } = await shared.db.$client.query<{ due: string }>(
    `select extract(epoch from delay_due(delay, to_timestamp(start), zone))::bigint as due
       from unnest($1::jsonb[], $2::bigint[], $3::text[]) with ordinality as given (delay, start, zone, n) order by n`,
    [sample.map(({ steps }) => normal(steps)), sample.map(({ start }) => start), sample.map(({ zone }) => zone)],
  );
  const wrong = sample.flatMap(({ steps, start, zone }, n) => {
    const expected =
      oracle(steps, Temporal.Instant.fromEpochMilliseconds(start * 1_000), zone).epochMilliseconds / 1_000;
    const due = Number(rows[n]?.due);
    return due === expected && due >= start ? [] : [{ steps, start, zone, due, expected }];
  });
  expect(wrong).toEqual([]);
});

const OWN_ZONE: [name: string, person: string | null, zone: string][] = [
  ['the person’s', 'Asia/Tokyo', 'Asia/Tokyo'],
  ['UTC when the person says so', 'UTC', 'UTC'],
  ['the account’s when the person has none', null, 'Asia/Bangkok'],
  ['the account’s when the person’s does not exist', 'Mars/Olympus', 'Asia/Bangkok'],
  ['the account’s when the person’s is nonsense', "'; drop", 'Asia/Bangkok'],
  ['the account’s, since GMT+7 means seven hours west to some', 'GMT+7', 'Asia/Bangkok'],
  ['the account’s, since an offset is not a zone', '+07:00', 'Asia/Bangkok'],
];

test.for(OWN_ZONE)('[T1] a local time is that of %s', async ([, timezone, zone]) => {
  const tenant = await insertTenant(shared.db, { timezone: 'Asia/Bangkok' });
  await insertRow(shared.db, 'line_user', {
    organization_id: tenant.organizationId,
    line_oa_id: tenant.lineOaId,
    user_id: lineUserId(1),
    timezone,
  });
  const [id] = await schedule(shared.db, tenant, { delay: normal({ days: 1, at: '09:00' }) });
  const local = await columnOf(
    shared.db,
    `select to_char(execute_at at time zone $2, 'HH24:MI') || ' ' || ((execute_at at time zone $2)::date - (created_at at time zone $2)::date)
       from scheduled_action where id = $1`,
    [id, zone],
  );
  expect(local).toEqual(['09:00 1']);
});

const TEXTS: [text: unknown, date: string | null][] = [
  ['2026-05-01', '2026-04-30T15:00:00Z'],
  ['2026-05-01T09:30', '2026-05-01T00:30:00Z'],
  ['2026-05-01 09:30:15', '2026-05-01T00:30:15Z'],
  ['2026-05-01T09:30:00+07:00', '2026-05-01T02:30:00Z'],
  ['2026-05-01T09:30:00.123456Z', '2026-05-01T09:30:00Z'],
  ['2026-02-30', null],
  ['2026-13-01', null],
  ['0000-01-01', null],
  ['2026-05-01T25:00', null],
  ['2026-05-01T10:00+99:00', null],
  ['tomorrow', null],
  ['now', null],
  ['infinity', null],
  ['', null],
  [20_260_501, null],
  [true, null],
  [{}, null],
  [null, null],
];

test.for(TEXTS)('an attribute that is %j says the date %s', async ([value, date]) => {
  const read = await columnOf(
    shared.db,
    `select to_char(date_of_text($1::jsonb ->> 'date', 'Asia/Tokyo') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
    [{ date: value }],
  );
  expect(read).toEqual([date]);
});

test('an instant of a delay is exact to the microsecond', async () => {
  await using own = await testDb();
  const tenant: Tenant = await insertTenant(own.db);
  await standAt(own.db, '2026-01-31 23:59:59.999999Z');
  await schedule(own.db, tenant, { delay: normal({ seconds: 1 }) });
  await schedule(own.db, tenant, { delay: normal({ months: 1 }) });
  expect(await each(own.db, `to_char(execute_at at time zone 'UTC', 'MM-DD HH24:MI:SS.US')`)).toEqual([
    '02-01 00:00:00.999999',
    '02-28 23:59:59.999999',
  ]);
});
