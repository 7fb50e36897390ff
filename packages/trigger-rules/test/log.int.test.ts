import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { type Decision, type LogEntry, recordDecisions } from '@dueline/trigger-rules';
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
