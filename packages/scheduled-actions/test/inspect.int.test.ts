import type { Tenant } from '@dueline/contracts';
import { insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { type ActionFilter, listActions, showAction } from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { act, ended, HELLO, insertAction, insertDeliveryOf } from './operating.ts';

let own: TestDb;
let tenant: Tenant;
let other: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db, { timezone: 'Asia/Tokyo' });
  other = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const insert = (columns: Record<string, unknown> = {}, whose = tenant) => insertAction(own.db, whose, columns);
const base = () => ({ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId });

async function insertVaried(): Promise<Record<string, string>> {
  const rule = await insertRow(own.db, 'trigger_rule', {
    ...{ ...base(), name: 'welcome', source_type: 'attribute_changed', source_config: {} },
    ...{ action_type: 'send_message', action_config: HELLO },
  });
  return {
    ruled: await insert({ trigger_rule_id: rule.id, execute_at: '2030-01-01T00:00:00Z' }),
    user: await insert({ user_id: lineUserId(2), execute_at: '2030-01-02T00:00:00Z' }),
    bulk: await insert({ lane: 2, workflow_id: 5, execute_at: '2030-01-03T00:00:00Z' }),
    text: await insert({
      ...{ action_config: { messages: [{ type: 'text', text: 'Your "50 %" Voucher\n了解' }] } },
      execute_at: '2030-01-04T00:00:00Z',
    }),
    failed: await insert({ ...ended('failed'), execute_at: '2030-01-05T00:00:00Z' }),
    rule: String(rule.id),
  };
}

test('a list shows what its filter names, the earliest due first', async () => {
  const ids = await insertVaried();
  await insert({}, other);
  const { ruled, user, bulk, text, failed, rule } = ids;
  const cases: [ActionFilter, (string | undefined)[]][] = [
    [{}, [ruled, user, bulk, text, failed]],
    [{ ruleId: rule }, [ruled]],
    [{ userId: lineUserId(2) }, [user]],
    [{ statuses: ['failed', 'done'] }, [failed]],
    [{ lane: 2, workflowId: '5' }, [bulk]],
    [{ text: '"50 %" vouCHER\n了' }, [text]],
    [{ text: '%' }, [text]],
    [{ actionType: 'send_message', lane: 0 }, []],
    [{ dueFrom: '2030-01-02T09:00', dueBefore: '2030-01-04T09:00' }, [user, bulk]], // Tokyo
  ];
  for (const [filter, expected] of cases) {
    const { actions, next } = await listActions(own.db, tenant, { filter, limit: 10 });
    expect([filter, actions.map(({ id }) => id), next]).toEqual([filter, expected, null]);
  }
  const [shown] = (await listActions(own.db, tenant, { filter: { ruleId: rule }, limit: 1 })).actions;
  expect(shown).toMatchObject({
    ruleName: 'welcome',
    executeAt: '2030-01-01T00:00:00+00:00',
    delivery: null,
    actionConfig: HELLO,
  });
});

test('pages follow each other, whatever comes in between and however many are due at the same instant', async () => {
  const at = '2030-01-01T00:00:00.123456Z';
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.push(await insert({ execute_at: at }));
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const page = await listActions(own.db, tenant, { filter: {}, limit: 2, after });
    seen.push(...page.actions.map(({ id }) => id));
    after = page.next ?? undefined;
    await insert({ execute_at: '2029-01-01T00:00:00Z' });
  } while (after !== undefined);
  expect(seen).toEqual(ids);
});

test.for<[string, unknown]>([
  ['filter is invalid at /userId', { filter: { userId: 'x' }, limit: 1 }],
  ['filter is invalid at /dueFrom', { filter: { dueFrom: 'soon' }, limit: 1 }],
  ['filter is invalid at /', { filter: { color: 'red' }, limit: 1 }],
  ['no list gave such a page', { filter: {}, limit: 1, after: 'x/1' }],
])('what is wrong with a question is told: %s', async ([message, question]) => {
  await expect(listActions(own.db, tenant, question as never)).rejects.toThrow(message);
});

test('one action is shown with what it waits for, what people did, and what became of its message', async () => {
  const id = await insert({ execute_at: '2030-01-01T00:00:00Z' });
  await insertRow(own.db, 'action_wait', {
    ...{
      ...base(),
      user_id: lineUserId(1),
      scheduled_action_id: id,
      n: 0,
      source: 'link',
      ref_id: '7',
      branch: 'clicked',
    },
  });
  await act(own.db, tenant, { id, operation: { kind: 'postpone', seconds: 60 } });
  const delivery = await insertDeliveryOf(own.db, tenant, {
    actionId: id,
    status: 'refused',
    reason_code: 'refused',
    line_request_id: 'r-1',
  });

  expect(await showAction(own.db, tenant, id)).toMatchObject({
    ...{ id, status: 'pending', fence: '1', executeAt: '2030-01-01T00:01:00+00:00', delivery: 'refused' },
    waits: [{ source: 'link', refId: '7', branch: 'clicked' }],
    edits: [{ operation: 'postpone', by: 'mika', why: 'because', after: { executeAt: '2030-01-01T00:01:00+00:00' } }],
    deliveries: [
      {
        id: delivery.id,
        epoch: 1,
        status: 'refused',
        attempts: 0,
        reasonCode: 'refused',
        lineRequestId: 'r-1',
        acceptedAt: null,
      },
    ],
  });
  expect(await showAction(own.db, other, id)).toBeUndefined();
  await expect(showAction(own.db, tenant, 'x')).rejects.toThrow('id is invalid');
});
