import type { Tenant } from '@dueline/contracts';
import { insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { type HistoryPage, historyOfRule, historyOfUser } from '@dueline/history';
import { PermanentError } from '@dueline/kernel';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertDecision, insertRule, tenantColumns, USER } from './support.ts';

let shared: TestDb;
let tenant: Tenant;
let ruleId: string;
beforeAll(async () => {
  shared = await testDb();
});
beforeEach(async () => {
  tenant = await insertTenant(shared.db);
  ruleId = await insertRule(shared.db, tenant);
});
afterAll(() => shared[Symbol.asyncDispose]());

type Read = (page: { limit: number; after?: string }) => Promise<HistoryPage>;
const READS: [string, Read][] = [
  ['a rule', (page) => historyOfRule(shared.db, tenant, { ...page, triggerRuleId: ruleId })],
  ['a person', (page) => historyOfUser(shared.db, tenant, { ...page, userId: USER })],
];

const decide = (count: number, createdDate = 'now') =>
  shared.db.$client.query(
    `insert into trigger_log (created_date, organization_id, line_oa_id, trigger_rule_id, user_id, trigger_on, decision, reason_code)
     select case when $1 = 'now' then app_now() else $1::timestamptz end, $2, $3, $4, $5, 'x', 'fired', 'matched' from generate_series(1, $6::int)`,
    [createdDate, tenant.organizationId, tenant.lineOaId, ruleId, USER, count],
  );

test.for(READS)(
  'pages of the history of %s show each row once, the newest first, also where many are of one instant and more are written meanwhile',
  async ([, read]) => {
    await decide(30, '2026-01-31T23:59:59.999999Z');
    await decide(25, '2026-01-01T00:00:00.000001Z');
    await decide(5);
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await read({ limit: 7, ...(after !== undefined && { after }) });
      seen.push(...page.entries.map(({ id }) => id));
      after = page.next ?? undefined;
      await decide(1); // newer than all that is read
    } while (after !== undefined);
    expect(seen).toHaveLength(60);
    expect(seen.map(BigInt)).toEqual(seen.map(BigInt).toSorted((a, b) => order(a) - order(b) || Number(b - a)));
    expect(new Set(seen).size).toBe(60);
  },
);

/** Rows are made in the order old, older, new. */
let first = 0n;
beforeEach(async () => {
  const { rows } = await shared.db.$client.query(`select coalesce(max(id), 0) as id from trigger_log`);
  first = BigInt(rows[0].id) + 1n;
});
const order = (id: bigint): number => (id < first + 30n ? 1 : id < first + 55n ? 2 : 0);

test('a row says all that was written down, and a counted one how many it stands for', async () => {
  const eventId = crypto.randomUUID();
  const all = { event_id: eventId, cause_id: eventId, root_id: eventId, scheduled_action_id: 3, delivery_id: 4 };
  await insertDecision(shared.db, tenant, {
    ...{
      ...all,
      trigger_rule_id: ruleId,
      rule_version: 2,
      action_type: 'send_message',
      action_config: { messages: [] },
    },
    ...{ error_message: 'x', detail: { branch: 'clicked' }, created_date: '2026-01-01T00:00:00.123456Z' },
  });
  await insertDecision(shared.db, tenant, {
    ...{ trigger_rule_id: ruleId, user_id: null, evaluations: 1_000, decision: 'not_matched' },
    ...{ reason_code: 'conditions_not_met', detail: { samples: [] } },
  });
  const { entries, next } = await historyOfRule(shared.db, tenant, { triggerRuleId: ruleId, limit: 2 });
  expect(next).toBeNull();
  expect(entries).toEqual([
    expect.objectContaining({ userId: null, evaluations: 1_000, decision: 'not_matched', detail: { samples: [] } }),
    {
      ...{ id: expect.any(String), at: '2026-01-01T00:00:00.123456+00:00', triggerRuleId: ruleId, ruleName: '金 🏅' },
      ...{ ruleVersion: 2, userId: USER, evaluations: 1, triggerOn: 'attribute_changed', decision: 'fired' },
      ...{ reasonCode: 'matched', actionType: 'send_message', actionConfig: { messages: [] }, errorMessage: 'x' },
      ...{ detail: { branch: 'clicked' }, eventId, causeId: eventId, rootId: eventId },
      ...{ scheduledActionId: '3', deliveryId: '4' },
    },
  ]);
  expect((await historyOfUser(shared.db, tenant, { userId: USER, limit: 2 })).entries).toHaveLength(1);
});

test('no account reads the history of another, by whatever id', async () => {
  await decide(3);
  const other = await insertTenant(shared.db);
  expect(await historyOfRule(shared.db, other, { triggerRuleId: ruleId, limit: 9 })).toEqual({
    entries: [],
    next: null,
  });
  expect(await historyOfUser(shared.db, other, { userId: USER, limit: 9 })).toEqual({ entries: [], next: null });
  expect(tenantColumns(other)).not.toEqual(tenantColumns(tenant));
});

test.for([
  ['limit 0', { limit: 0 }, /^limit: a whole number from 1 to 500$/],
  ['limit 501', { limit: 501 }, /^limit/],
  ['half a row', { limit: 1.5 }, /^limit/],
  ['no place', { limit: 1, after: 'x' }, /^after: no page gave such a place/],
  ['a place without an id', { limit: 1, after: '2026-01-01T00:00:00Z/' }, /^after/],
  ['a place of nonsense', { limit: 1, after: `2026-01-01T00:00:00Z/1' or true` }, /^after/],
] as const)('a page with %s is refused, with what is wrong', async ([, page, message]) => {
  for (const [, read] of READS) {
    const refused = (async () => read(page))();
    await expect(refused).rejects.toThrow(PermanentError);
    await expect(refused).rejects.toThrow(message);
  }
});

test.for([
  ['rule', () => historyOfRule(shared.db, tenant, { triggerRuleId: '1 or true', limit: 1 })],
  ['person', () => historyOfUser(shared.db, tenant, { userId: lineUserId(1).slice(1), limit: 1 })],
] as const)('the id of a %s that is none is refused', async ([, read]) => {
  await expect((async () => read())()).rejects.toThrow(/is not/);
});
