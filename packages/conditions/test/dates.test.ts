import { expect, test } from 'vitest';
import { CLOCK, factsOf, judge } from './support.ts';

type Row = [op: string, rest: object, value: unknown, expected: boolean | string];

/** Now is 2026-12-01T12:00:00.123456+09:00 in the account's zone. */
const ROWS: Row[] = [
  ['before', { value: '2026-12-02' }, '2026-12-01', true],
  ['before', { value: '2026-12-01' }, '2026-12-01', false],
  ['before', { value: '2026-12-01' }, '2026-11-30T23:59:59', true],
  ['before', { value: '2026-12-01' }, '2026-11-30T15:00:00Z', false], // midnight of the day in Tokyo
  ['before', { value: '2026-12-01T10:00:00+09:00' }, '2026-12-01T00:59:59.999999Z', true],
  ['before', { value: '2026-12-01T10:00:00+09:00' }, '2026-12-01T01:00:00Z', false],
  ['before', { value: '2026-12-01T10:00' }, '2026-12-01 09:59', true],
  ['before', { value: { ago: { days: 30 } } }, '2026-10-31', true],
  ['before', { value: { ago: { days: 30 } } }, '2026-11-01', false], // exactly thirty days ago
  ['before', { value: { ago: { hours: 2 } } }, '2026-12-01T00:59:00Z', true],
  ['before', { value: { ago: { hours: 2 } } }, '2026-12-01T01:01:00Z', false],
  ['after', { value: '2026-11-30' }, '2026-12-01', true],
  ['after', { value: '2026-12-01' }, '2026-12-01T23:59:59', false],
  ['after', { value: { ahead: { months: 1 } } }, '2027-01-02', true],
  ['on', { value: '2026-12-01' }, '2026-11-30T15:00:00Z', true],
  ['on', { value: '2026-12-01' }, '2026-12-01T15:00:00Z', false],
  ['on', { value: { ago: { days: 0 } } }, '2026-12-01', true],
  ['on', { value: { ahead: { days: 3 } } }, '2026-12-04', true],
  ['on', { value: { ahead: { days: 3 } } }, '2026-12-03T15:00:00Z', true],
  ['on', { value: { ahead: { days: 3 } } }, '2026-12-05', false],
  ['in_last', { value: { days: 7 } }, '2026-11-24', true],
  ['in_last', { value: { days: 7 } }, '2026-11-23', false],
  ['in_last', { value: { days: 7 } }, '2026-12-01', true],
  ['in_last', { value: { days: 7 } }, '2026-12-02', false], // yet to come
  ['in_last', { value: { days: 7 } }, '2026-11-24T12:00:01', true],
  ['in_last', { value: { days: 7 } }, '2026-11-24T12:00:00', false], // a blink more than seven days
  ['in_last', { value: { minutes: 5 } }, '2026-12-01T02:55:01Z', true],
  ['in_last', { value: { minutes: 5 } }, '2026-12-01T02:55:00Z', false],
  ['in_last', { value: { minutes: 5 } }, '2026-12-01T03:00:01Z', false],
  ['in_last', { value: { hours: 1 } }, '2026-12-01', true], // a day counts whole
  ['in_last', { value: { months: 1 } }, '2026-11-01', true],
  ['in_last', { value: { years: 1 } }, '2025-11-30', false],
  ['in_next', { value: { days: 1 } }, '2026-12-02', true],
  ['in_next', { value: { days: 1 } }, '2026-12-03', false],
  ['in_next', { value: { weeks: 1 } }, '2026-11-30', false],
  ['in_next', { value: { days: 0 } }, '2026-12-01', true],
  ['anniversary', {}, '1990-12-01', true],
  ['anniversary', {}, '1990-12-02', false],
  ['anniversary', {}, '2026-12-01', false], // the day itself
  ['anniversary', {}, '2027-12-01', false],
  ['anniversary', {}, '1990-11-30T15:00:00Z', true], // 1 December in Tokyo
  ['on', { value: '2026-12-01' }, '2026-13-01', 'not_a_date'],
  ['on', { value: '2026-12-01' }, '2026-02-29', 'not_a_date'],
  ['on', { value: '2026-12-01' }, '1 December', 'not_a_date'],
  ['on', { value: '2026-12-01' }, '2026-12-01T25:00', 'not_a_date'],
  ['on', { value: '2026-12-01' }, '2026-12-01T10:00+25:00', 'not_a_date'],
  ['on', { value: '2026-12-01' }, '', 'not_a_date'],
  ['on', { value: '2026-12-01' }, 1_796_000_000, 'wrong_type'],
  ['in_last', { value: { days: 1 } }, 'x'.repeat(5_000), 'too_long'],
];

test.for(ROWS)('%s %j, when it is %j: %s', ([op, rest, value, expected]) => {
  const [leaf] = judge({ attribute: 'a', op, ...rest }, factsOf({ a: value })).leaves;
  expect(leaf?.holds).toBe(expected === true);
  expect(leaf?.why).toBe(typeof expected === 'string' ? expected : undefined);
});

const at = (now: string, userZone: string | null = null, accountZone = 'Asia/Tokyo') => ({
  clock: { now, userZone, accountZone },
});

test.for<[what: string, condition: object, attribute: string, clock: ReturnType<typeof at>, expected: boolean]>([
  [
    'the day is that of the person',
    { op: 'on', value: { ago: { days: 0 } } },
    '2026-11-30',
    at(CLOCK.now, 'America/Los_Angeles'),
    true,
  ],
  [
    'the day is that of the account, where it says so',
    { op: 'on', value: { ago: { days: 0 } }, zone: 'account' },
    '2026-12-01',
    at(CLOCK.now, 'America/Los_Angeles'),
    true,
  ],
  [
    'a zone that is none is the account’s',
    { op: 'on', value: { ago: { days: 0 } } },
    '2026-12-01',
    at(CLOCK.now, 'Mars/Base'),
    true,
  ],
  ['an abbreviation is no zone', { op: 'on', value: { ago: { days: 0 } } }, '2026-12-01', at(CLOCK.now, 'PST'), true],
  [
    'a day of 23 hours is a day',
    { op: 'in_last', value: { days: 1 } },
    '2026-03-07T12:30:00-08:00',
    at('2026-03-08T19:30:00Z', 'America/Los_Angeles'),
    true,
  ],
  [
    '24 hours over a day of 23 reach further back',
    { op: 'in_last', value: { hours: 24 } },
    '2026-03-07T11:30:00-08:00',
    at('2026-03-08T19:30:00Z', 'America/Los_Angeles'),
    true,
  ],
  [
    'a day of 25 hours is a day',
    { op: 'in_last', value: { days: 1 } },
    '2026-10-31T12:00:00-07:00',
    at('2026-11-01T20:00:00Z', 'America/Los_Angeles'),
    true,
  ],
  [
    '24 hours over a day of 25 reach less far back',
    { op: 'in_last', value: { hours: 24 } },
    '2026-10-31T12:30:00-07:00',
    at('2026-11-01T20:00:00Z', 'America/Los_Angeles'),
    false,
  ],
  [
    'a time that clocks skip is as much later',
    { op: 'before', value: '2026-03-08T10:30:00Z' },
    '2026-03-08T02:30',
    at(CLOCK.now, 'America/Los_Angeles'),
    false,
  ],
  [
    'a time that clocks show twice is the second',
    { op: 'after', value: '2026-11-01T09:00:00Z' },
    '2026-11-01T01:30',
    at(CLOCK.now, 'America/Los_Angeles'),
    true,
  ],
  [
    '29 February has its anniversary on 28 February',
    { op: 'anniversary' },
    '2024-02-29',
    at('2026-02-28T03:00:00Z'),
    true,
  ],
  ['and on no 1 March', { op: 'anniversary' }, '2024-02-29', at('2026-03-01T03:00:00Z'), false],
  ['and on 29 February where there is one', { op: 'anniversary' }, '2024-02-29', at('2028-02-29T03:00:00Z'), true],
  ['on 28 February of such a year it is not', { op: 'anniversary' }, '2024-02-29', at('2028-02-28T03:00:00Z'), false],
  [
    'a month after 31 January is 28 February',
    { op: 'on', value: { ahead: { months: 1 } } },
    '2026-02-28',
    at('2026-01-31T03:00:00Z'),
    true,
  ],
  [
    'where the account has no zone it is UTC',
    { op: 'on', value: { ago: { days: 0 } } },
    '2026-12-01',
    at('2026-12-01T23:00:00Z', null, 'nowhere'),
    true,
  ],
])('%s', ([, condition, a, clock, expected]) => {
  expect(judge({ attribute: 'a', ...condition }, factsOf({ a }, clock)).holds).toBe(expected);
});
