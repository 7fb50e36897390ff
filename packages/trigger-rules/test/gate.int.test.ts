import type { Frequency, Reentry, RuleMode, Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { createRule, type Firing, liveRules, passGate, type TriggerRule } from '@dueline/trigger-rules';
import { ruleDraft } from '@dueline/trigger-rules/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

let own: TestDb;
beforeEach(async () => {
  own = await testDb();
});
afterEach(() => own[Symbol.asyncDispose]());

type Limit = { frequency: Frequency; cooldownSeconds?: number; reentry?: Reentry; mode?: RuleMode };

async function makeRule(limit: Limit, timezone = 'Asia/Tokyo'): Promise<TriggerRule> {
  const tenant: Tenant = await insertTenant(own.db, { timezone });
  await createRule(own.db, tenant, ruleDraft(limit));
  const [read] = await inTransaction(own.db, (tx) => liveRules(tx, 'attribute_changed', [tenant]));
  if (read?.kind !== 'rule') throw new Error('no rule');
  return read.rule;
}

const firing = (rule: TriggerRule, user = 1): Firing => ({ rule, userId: lineUserId(user) });
const pass = (...firings: Firing[]) => inTransaction(own.db, (tx) => passGate(tx, firings));

/** Product time stands at this instant. */
const at = (instant: string) =>
  own.db.$client.query(
    `create or replace function app_now() returns timestamptz language sql stable as $$ select timestamptz '${instant}' $$`,
  );

interface Case {
  name: string;
  limit: Limit;
  zone?: string;
  /** Instant, and whether the rule fires then. */
  fires: [string, boolean][];
}

const CASES: Case[] = [
  {
    name: 'every time',
    limit: { frequency: 'every_time' },
    fires: [
      ['2026-03-01T00:00:00Z', true],
      ['2026-03-01T00:00:00Z', true],
    ],
  },
  {
    name: 'once, for ever',
    limit: { frequency: 'once' },
    fires: [
      ['2026-03-01T00:00:00Z', true],
      ['2026-03-01T00:00:00Z', false],
      ['2036-03-01T00:00:00Z', false],
    ],
  },
  {
    name: 'once an hour: 3,600 s from the last fire, not the clock hour',
    limit: { frequency: 'once_per_hour' },
    fires: [
      ['2026-03-01T00:59:00Z', true],
      ['2026-03-01T01:01:00Z', false],
      ['2026-03-01T01:58:59.999Z', false],
      ['2026-03-01T01:59:00Z', true],
      ['2026-03-01T02:58:59Z', false],
    ],
  },
  {
    name: 'once a day: the calendar day of Tokyo',
    limit: { frequency: 'once_per_day' },
    fires: [
      ['2026-03-01T14:59:59Z', true], // 23:59:59 in Tokyo
      ['2026-03-01T15:00:00Z', true], // midnight
      ['2026-03-02T00:00:00Z', false], // midnight of UTC
      ['2026-03-02T14:59:59.999Z', false],
      ['2026-03-02T15:00:00Z', true],
    ],
  },
  {
    name: 'once a day: a day of 23 hours in New York',
    limit: { frequency: 'once_per_day' },
    zone: 'America/New_York',
    fires: [
      ['2026-03-08T05:00:00Z', true], // 00:00, the day of the spring change
      ['2026-03-09T03:59:59Z', false],
      ['2026-03-09T04:00:00Z', true], // 00:00 summer time
    ],
  },
  {
    name: 'once a day: a day of 25 hours in New York',
    limit: { frequency: 'once_per_day' },
    zone: 'America/New_York',
    fires: [
      ['2026-11-01T04:00:00Z', true],
      ['2026-11-02T04:59:59Z', false],
      ['2026-11-02T05:00:00Z', true],
    ],
  },
  {
    name: 'once a week: the ISO week of Tokyo, over the end of a year',
    limit: { frequency: 'once_per_week' },
    fires: [
      ['2026-12-31T00:00:00Z', true], // a Thursday
      ['2027-01-01T00:00:00Z', false],
      ['2027-01-03T14:59:59Z', false], // Sunday
      ['2027-01-03T15:00:00Z', true], // Monday in Tokyo
    ],
  },
  {
    name: 'a cooldown of 10 s rolls',
    limit: { frequency: 'every_time', cooldownSeconds: 10 },
    fires: [
      ['2026-03-01T00:00:00Z', true],
      ['2026-03-01T00:00:09.999Z', false],
      ['2026-03-01T00:00:10Z', true],
      ['2026-03-01T00:00:19Z', false],
    ],
  },
  {
    name: 'frequency and cooldown: both must pass',
    limit: { frequency: 'once_per_day', cooldownSeconds: 7_200 },
    fires: [
      ['2026-03-01T14:30:00Z', true],
      ['2026-03-01T15:30:00Z', false], // another day, but the cooldown runs
      ['2026-03-01T16:30:00Z', true],
      ['2026-03-01T19:30:00Z', false], // the cooldown is over, but it is the same day
    ],
  },
  {
    name: 'never again, however long ago it was',
    limit: { frequency: 'every_time', reentry: 'never' },
    fires: [
      ['2026-03-01T00:00:00Z', true],
      ['2026-03-01T00:00:01Z', false],
      ['2036-03-01T00:00:00Z', false],
    ],
  },
  {
    name: 'a refusal spends nothing',
    limit: { frequency: 'once_per_hour' },
    fires: [
      ['2026-03-01T00:00:00Z', true],
      ['2026-03-01T00:59:59Z', false],
      ['2026-03-01T01:00:00Z', true],
    ],
  },
];

test.for(CASES)('$name', async ({ limit, zone, fires }) => {
  const rule = await makeRule(limit, zone);
  const found: [string, boolean][] = [];
  for (const [instant] of fires) {
    await at(instant);
    found.push([instant, (await pass(firing(rule)))[0] ?? false]);
  }
  expect(found).toEqual(fires);
});

test('of two firings of one rule and user in one call only the first passes; other users and rules do not mind', async () => {
  const [hourly, other, free] = [
    await makeRule({ frequency: 'once_per_hour' }),
    await makeRule({ frequency: 'once' }),
    await makeRule({ frequency: 'every_time' }),
  ];
  const found = await pass(
    firing(hourly),
    firing(hourly),
    firing(free),
    firing(hourly, 2),
    firing(other),
    firing(free),
    firing(other),
  );
  expect(found).toEqual([true, false, true, true, true, true, false]);
  expect(await pass()).toEqual([]);
  expect(await columnOf(own.db, 'select count(*) from rule_gate')).toEqual(['3']); // none for the rule without a limit
});

test.for(['once', 'once_per_hour', 'once_per_day', 'once_per_week'] as const)(
  'of twenty transactions at once one passes (%s)',
  async (frequency) => {
    const rule = await makeRule({ frequency });
    const found = await Promise.all(Array.from({ length: 20 }, () => pass(firing(rule))));
    expect(found.flat().filter(Boolean)).toHaveLength(1);
    expect(await columnOf(own.db, 'select fired_count from rule_gate')).toEqual(['1']);
  },
);

test('transactions over many users in opposite orders do not deadlock, and each user passes once', async () => {
  const rule = await makeRule({ frequency: 'once' });
  const users = Array.from({ length: 100 }, (_, at) => firing(rule, at));
  const found = await Promise.all([pass(...users), pass(...users.toReversed()), pass(...users)]);
  expect(found.flat().filter(Boolean)).toHaveLength(100);
});

test('a firing of a transaction that rolls back spends nothing', async () => {
  const rule = await makeRule({ frequency: 'once' });
  await expect(
    inTransaction(own.db, async (tx) => {
      expect(await passGate(tx, [firing(rule)])).toEqual([true]);
      throw new Error('undecidable');
    }),
  ).rejects.toThrow();
  expect(await pass(firing(rule))).toEqual([true]);
});

test('what a rule did while it observed limits nothing once it is live, and the other way round', async () => {
  const rule = await makeRule({ frequency: 'once', mode: 'observe' });
  const live = { ...rule, mode: 'live' as const };
  expect(await pass(firing(rule))).toEqual([true]);
  expect(await pass(firing(live), firing(rule))).toEqual([true, false]);
  expect(await pass(firing(live))).toEqual([false]);
});
