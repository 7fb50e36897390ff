import { readFile } from 'node:fs/promises';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { countUnmatched, type Decision, type LogEntry, REASON_CODES, recordDecisions } from '@dueline/trigger-rules';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  shared = await testDb();
});
beforeEach(async () => {
  tenant = await insertTenant(shared.db);
});
afterAll(() => shared[Symbol.asyncDispose]());

const entry = (changes: Partial<LogEntry> = {}): LogEntry => ({
  ...{ ...tenant, userId: lineUserId(1), triggerRuleId: '7', ruleVersion: 2, triggerOn: 'attribute_changed' },
  ...{ action: null, decision: 'fired', reasonCode: 'matched', eventId: null, rootId: null },
  ...changes,
});

async function record(...entries: LogEntry[]) {
  await inTransaction(shared.db, (tx) => recordDecisions(tx, entries));
  const { rows } = await shared.db.$client.query('select * from trigger_log where line_oa_id = $1 order by id', [
    tenant.lineOaId,
  ]);
  return rows;
}

const STATUS: [Decision, string][] = [
  ['fired', 'success'],
  ['scheduled', 'success'],
  ['not_matched', 'skipped'],
  ['suppressed', 'skipped'],
  ['cancelled', 'cancelled'],
  ['retried', 'failed'],
  ['failed', 'failed'],
];

test.for(STATUS)('what was %s stands in the history as %s', async ([decision, status]) => {
  expect(await record(entry({ decision }))).toMatchObject([{ decision, status, reason_code: 'matched' }]);
});

test.for([
  ['NUL', 'a\u0000b', 'a\uFFFDb'],
  ['a lone surrogate', 'a\ud800b', 'a\uFFFDb'],
  ['emoji', '👨‍👩‍👧 🎉', '👨‍👩‍👧 🎉'],
  ['quotes and backslashes', `it's "so" \\ {a,b} NULL`, `it's "so" \\ {a,b} NULL`],
  ['a megabyte', 'x'.repeat(1_000_000), 'x'.repeat(1_000)],
  ['nothing', '', ''],
] as const)('an error text with %s never fails the decision', async ([, errorMessage, stored]) => {
  expect(await record(entry({ errorMessage }))).toMatchObject([{ error_message: stored }]);
});

test('every field is kept, and an entry without the optional ones beside it', async () => {
  const eventId = crypto.randomUUID();
  const actionConfig = { messages: [{ type: 'text' as const, text: '🎉 "x"' }] };
  const full = entry({
    ...{
      action: { actionType: 'send_message', actionConfig },
      decision: 'scheduled',
      detail: { leaves: [] },
      eventId,
      rootId: eventId,
    },
    ...{ scheduledActionId: '11', deliveryId: '12' },
  });
  expect(await record(full, entry({ triggerRuleId: null, ruleVersion: null }))).toMatchObject([
    {
      ...{ organization_id: tenant.organizationId, user_id: lineUserId(1), trigger_rule_id: '7', rule_version: 2 },
      ...{
        trigger_on: 'attribute_changed',
        action_type: 'send_message',
        action_config: actionConfig,
        detail: { leaves: [] },
      },
      ...{ event_id: eventId, root_id: eventId, scheduled_action_id: '11', delivery_id: '12', error_message: null },
    },
    {
      trigger_rule_id: null,
      rule_version: null,
      action_type: null,
      action_config: null,
      detail: null,
      scheduled_action_id: null,
    },
  ]);
  expect(await record()).toHaveLength(2);
});

/** The texts that a constraint of trigger_log names. */
async function namedBy(constraint: string): Promise<string[]> {
  const [text] = await columnOf(
    shared.db,
    `select pg_get_constraintdef(oid) from pg_constraint where conrelid = 'trigger_log'::regclass and conname = $1`,
    [constraint],
  );
  return [...String(text).matchAll(/'(\w+)'::text/g)].map(([, name]) => String(name));
}

test('the table takes exactly the reasons and the decisions that there are', async () => {
  expect(await namedBy('trigger_log_reason_known')).toEqual([...REASON_CODES]);
  expect((await namedBy('trigger_log_decision_known')).sort()).toEqual(
    [...STATUS.map(([decision]) => decision), 'deferred', 'observed', 'unlocked'].sort(),
  );
  await expect(insertRow(shared.db, 'trigger_log', row({ user_id: 'x', reason_code: 'because' }))).rejects.toThrow(
    /trigger_log_reason_known/,
  );
});

test('people are told what every reason means', async () => {
  const docs = await readFile(new URL('../../../docs/rules.md', import.meta.url), 'utf8');
  expect(REASON_CODES.filter((code) => !docs.includes(`\`${code}\``) && !docs.includes(`: ${code}\``))).toEqual([]);
});

const row = (changes: object) => ({
  ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, trigger_rule_id: 7, trigger_on: 'x' },
  ...{ decision: 'not_matched', reason_code: 'conditions_not_met', ...changes },
});

test('a flood that a rule did not match is written down as one row that counts', async () => {
  const unmatched = Array.from({ length: 300 }, (_, n) =>
    entry({
      userId: lineUserId(n),
      decision: 'not_matched',
      reasonCode: 'conditions_not_met',
      eventId: tenantEvent(n),
    }),
  );
  await inTransaction(shared.db, (tx) => recordDecisions(tx, countUnmatched(unmatched)));
  const [counted, ...others] = await record();
  expect(others).toEqual([]);
  expect(counted).toMatchObject({ user_id: null, event_id: null, evaluations: 300, status: 'skipped' });
  expect(counted.detail.samples).toHaveLength(5);
});

const tenantEvent = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

test.for([
  ['what fired', { decision: 'fired', reason_code: 'matched' }],
  ['what was cancelled', { decision: 'cancelled', reason_code: 'expired' }],
  ['what ended an action', { scheduled_action_id: 1 }],
  ['what sent a message', { delivery_id: 1 }],
  ['what no rule decided', { trigger_rule_id: null }],
  ['one', { evaluations: 1 }],
] as const)('the table refuses to count %s instead of writing it down', async ([, changes]) => {
  await insertRow(shared.db, 'trigger_log', row({ evaluations: 2 }));
  await expect(insertRow(shared.db, 'trigger_log', row({ evaluations: 2, ...changes }))).rejects.toThrow(
    /trigger_log_only_unmatched_is_counted/,
  );
});
