import type { Tenant, Ticket } from '@dueline/contracts';
import { inTransaction, sql, takeInHand } from '@dueline/db';
import { columnOf, insertTenant, lineUserId, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import {
  cancelDeliveries,
  createDeliveries,
  createMenuDeliveries,
  createWebhookDeliveries,
  startDeliveries,
} from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { claimBatch, operate, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { cancelCycle, cycleDedupKey, endCycle, runCycleNow } from '@dueline/scheduled-cycles';
import { createRule, deleteRule } from '@dueline/trigger-rules';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recoverRows } from '../src/recover.ts';

let own: TestDb;
let tenant: Tenant;
let ruleId: string;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  ruleId = await newRule();
});
afterEach(() => own[Symbol.asyncDispose]());

const newRule = () =>
  createRule(own.db, tenant, {
    name: 'rule',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'city' },
    actionType: 'send_message',
    actionConfig: { messages: [{ type: 'text', text: 'hello' }], delay: { seconds: 3_600 } },
  });

const schedule = (count: number, triggerRuleId: string | null, delaySeconds = 3_600) =>
  inTransaction(own.db, (tx) =>
    scheduleMany(
      tx,
      Array.from({ length: count }, (_, n) =>
        actionToSchedule(tenant, { userId: lineUserId(n), triggerRuleId, ruleVersion: 1, delaySeconds }),
      ),
    ),
  );

async function recover(): Promise<[string, number][]> {
  const reports: [string, number][] = [];
  await recoverRows({ db: own.as('cron-scheduler'), onRecovered: (what, count) => reports.push([what, count]) })();
  return reports;
}
const statuses = () =>
  columnOf(
    own.db,
    `select concat_ws(' ', status, cancel_reason, count(*)) from scheduled_action group by status, cancel_reason order by 1`,
  );

test('[T12] what waits for a deleted rule is cancelled, however much it is, with its history; what waits for others is not [SEM-135]', async () => {
  await schedule(1_100, ruleId);
  await schedule(2, await newRule());
  await schedule(3, null);
  expect(await recover()).toEqual([]);
  await deleteRule(own.db, tenant, ruleId);

  const both = await Promise.all([recover(), recover()]); // two replicas at once

  expect(both.flat().reduce((sum, [, count]) => sum + count, 0)).toBe(1_100);
  expect(await statuses()).toEqual(['cancelled rule_deleted 1100', 'pending 5']);
  expect(
    await columnOf(
      own.db,
      `select concat_ws(' ', decision, reason_code, rule_version, count(*), count(distinct scheduled_action_id)) from trigger_log group by decision, reason_code, rule_version`,
    ),
  ).toEqual(['cancelled rule_deleted 1 1100 1100']);
});

test('[T12] a row of a deleted rule that is claimed is left to its decision; one that somebody holds, to the next sweep', async () => {
  await schedule(2, ruleId, 0);
  await deleteRule(own.db, tenant, ruleId);
  const claim = { claimedBy: 'a:1', via: 'queue', leaseSeconds: 60, maxProcessing: 10, overdueMs: 0 } as const;
  await claimBatch(own.db, { ...claim, limit: 1 });
  await inTransaction(own.db, async (tx) => {
    await tx.execute(sql`select from scheduled_action for no key update`);
    expect(await recover()).toEqual([]);
  });
  expect(await recover()).toEqual([['of_deleted_rule', 1]]);
  expect(await statuses()).toEqual(['cancelled rule_deleted 1', 'processing 1']);
});

/** Cycles of a daily rule, with so many people each whose actions wait for an hour; their ids. */
async function readCycles(...people: number[]): Promise<string[]> {
  const daily = await createRule(own.db, tenant, {
    ...{ name: 'daily', sourceType: 'scheduled_time', sourceConfig: { cron: '0 9 * * *' }, whenDisabled: 'hold' },
    ...{ actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'hello' }] } },
  } as Parameters<typeof createRule>[2]);
  const cycles: string[] = [];
  for (const count of people) {
    const id = (await inTransaction(own.db, (tx) => runCycleNow(tx, tenant, { triggerRuleId: daily })))?.id;
    cycles.push(id ?? '');
    await moveProductTime(own.db, 1);
    const actions = Array.from({ length: count }, (_, n) =>
      actionToSchedule(tenant, {
        ...{ userId: lineUserId(n), triggerRuleId: daily, ruleVersion: 1, delaySeconds: 3_600 },
        dedupKey: cycleDedupKey(id ?? '', lineUserId(n)),
      }),
    );
    await inTransaction(own.db, (tx) => scheduleMany(tx, actions));
  }
  return cycles;
}

const cancel = (executionId = '') => inTransaction(own.db, (tx) => cancelCycle(tx, tenant, { executionId }));

test('what waits of a cycle that a person cancelled is cancelled with its history, also what somebody held at first; other cycles go on', async () => {
  const cycles = await readCycles(1_100, 3);
  expect(await recover()).toEqual([]);
  await cancel(cycles[0]);
  await inTransaction(own.db, async (tx) => {
    await tx.execute(sql`select from scheduled_action where user_id = ${lineUserId(7)} for no key update`);
    expect(await recover()).toEqual([['of_cancelled_cycle', 1_099]]);
  });
  expect(await recover()).toEqual([['of_cancelled_cycle', 1]]);
  expect(await recover()).toEqual([]);
  expect(await statuses()).toEqual(['cancelled cycle_cancelled 1100', 'pending 3']);
  expect(
    await columnOf(
      own.db,
      `select concat_ws(' ', decision, reason_code, count(*)) from trigger_log group by decision, reason_code`,
    ),
  ).toEqual(['cancelled cycle_cancelled 1100']);
});

test('what somebody holds of a cancelled cycle keeps nobody from what waits of another one', async () => {
  const cycles = await readCycles(2, 3);
  for (const id of cycles) await cancel(id);
  await inTransaction(own.db, async (tx) => {
    await tx.execute(
      sql`select from scheduled_action where dedup_key = ${cycleDedupKey(cycles[0] ?? '', lineUserId(1))} for no key update`,
    );
    expect(await recover()).toEqual([['of_cancelled_cycle', 4]]);
  });
  expect(await recover()).toEqual([['of_cancelled_cycle', 1]]);
});

test('what waits of a cycle that ended because its rule is off is left to what the rule says of it', async () => {
  const [executionId = ''] = await readCycles(3);
  await inTransaction(own.db, (tx) => endCycle(tx, { executionId, reason: 'rule_disabled' }));
  expect(await recover()).toEqual([]);
  expect(await statuses()).toEqual(['pending 3']);
});

test('what a person brought back of a cancelled cycle is not cancelled again', async () => {
  const [executionId = ''] = await readCycles(3);
  await cancel(executionId);
  await own.db.$client.query(
    "update scheduled_action set status = 'cancelled', fence = fence + 1, cancel_reason = 'by_person', executed_at = app_now()",
  );
  const [ticket] = (await own.db.$client.query<Ticket>('select id, fence from scheduled_action')).rows;
  if (ticket === undefined) throw new Error('a cycle has actions');
  await operate(own.db, tenant, { ticket, operation: { kind: 'uncancel' }, by: 'mika', cancelDeliveries });
  expect(await recover()).toEqual([]);
  expect(await statuses()).toEqual(['cancelled by_person 2', 'pending 1']);
  expect(await columnOf(own.db, 'select swept from scheduled_trigger_execution')).toEqual(['true']);
});

test('[T9b] the deaths of a process that never came back are counted when its lease is over, before its claim is taken back', async () => {
  await schedule(1, null, 0);
  const [ticket] = await claimBatch(own.db, {
    ...{ claimedBy: 'a:1', via: 'queue', leaseSeconds: -1, maxProcessing: 10, overdueMs: 0, limit: 1 },
  });
  await takeInHand(own.db, { claimedBy: 'w:1', kind: 'action', ids: [ticket?.id ?? ''], leaseSeconds: -1 });
  expect(await recover()).toEqual([['deadly_row', 1]]);
  expect(
    await columnOf(own.db, `select concat_ws(' ', status, attempt, rescue_count, alone) from scheduled_action`),
  ).toEqual(['pending 0 1 t']);
});

test('[T9] a lease that ran out says nothing about its row', async () => {
  await schedule(1, null, 0);
  await claimBatch(own.db, {
    ...{ claimedBy: 'a:1', via: 'queue', leaseSeconds: -1, maxProcessing: 10, overdueMs: 0, limit: 1 },
  });
  expect(await recover()).toEqual([['scheduled_action', 1]]);
  expect(
    await columnOf(own.db, `select concat_ws(' ', status, attempt, rescue_count, alone) from scheduled_action`),
  ).toEqual(['pending 0 0 f']);
});

test('a send that nobody can learn about any more is unknown, and a person hears of it, once', async () => {
  const [{ id } = { id: '' }] = await inTransaction(own.db, (tx) => createDeliveries(tx, [deliveryToCreate(tenant)]));
  await startDeliveries(own.db, tenant, {
    tickets: [{ id, fence: '0' }],
    start: { claimedBy: 'line-delivery-0:gone', leaseSeconds: 0, settleSeconds: 0 },
  });
  expect(await recover()).toEqual([['delivery', 1]]); // its owner died
  await moveProductTime(own.db, 23 * 3_600);

  const both = await Promise.all([recover(), recover()]); // two replicas at once

  expect(both.flat()).toEqual([['overdue_delivery', 1]]);
  expect(
    await columnOf(own.db, `select concat_ws(' ', kind, ref_id, user_id, reason_code, status) from attention_item`),
  ).toEqual([`delivery_unknown ${id} U${'1'.padStart(32, '0')} ambiguous open`]);
});

test('a webhook that nobody took within its day ends, and a person hears of it', async () => {
  const { request: _, ...call } = deliveryToCreate(tenant);
  const [{ id } = { id: '' }] = await inTransaction(own.db, (tx) =>
    createWebhookDeliveries(tx, [{ ...call, url: 'https://example.com/', data: {} }]),
  );
  await moveProductTime(own.db, 24 * 3_600);
  expect(await recover()).toEqual([['overdue_delivery', 1]]);
  expect(
    await columnOf(own.db, `select concat_ws(' ', kind, ref_id, reason_code, status) from attention_item`),
  ).toEqual([`delivery_refused ${id} webhook_too_late open`]);
});

test('of menus that LINE could not be asked for within a day a person hears of those that are still wanted', async () => {
  const switches = [1, 2, 3].map((n) => ({
    ...deliveryToCreate(tenant, { userId: lineUserId(n === 3 ? 2 : n) }),
    lineRichMenuId: `richmenu-${n}`,
  }));
  const made = await inTransaction(own.db, (tx) => createMenuDeliveries(tx, switches));
  const created = switches.map(({ logicalId }) => made.find((delivery) => delivery.logicalId === logicalId));
  const wish = (n: number, seq: number) =>
    `(${tenant.lineOaId}, '${switches[n]?.userId}', ${seq}, ${tenant.organizationId}, ${created[n]?.id})`;
  await own.db.$client.query(`
    insert into rich_menu_wish (line_oa_id, user_id, action_seq, organization_id, delivery_id) values ${wish(0, 1)}, ${wish(1, 1)}, ${wish(2, 2)}`);
  await own.db.$client.query(`
    insert into user_rich_menu (line_oa_id, user_id, organization_id, action_seq)
    select line_oa_id, user_id, organization_id, max(action_seq) from rich_menu_wish group by 1, 2, 3`);
  await moveProductTime(own.db, 25 * 3_600);
  expect(await recover()).toEqual([['overdue_delivery', 3]]);
  expect(
    await columnOf(own.db, `select concat_ws(' ', ref_id, reason_code, user_id) from attention_item order by user_id`),
  ).toEqual([`${created[0]?.id} menu_too_late ${lineUserId(1)}`, `${created[2]?.id} menu_too_late ${lineUserId(2)}`]);
});

test('a send that reached nobody within the life of its key goes on under a new one', async () => {
  const [{ id } = { id: '' }] = await inTransaction(own.db, (tx) => createDeliveries(tx, [deliveryToCreate(tenant)]));
  await own.db.$client.query(
    `update delivery set first_attempt_at = app_now(), deliver_until = app_now() + interval '2 days'`,
  );
  await moveProductTime(own.db, 23 * 3_600);
  expect(await recover()).toEqual([['renewed_delivery', 1]]);
  expect(await columnOf(own.db, 'select epoch from delivery where id = $1', [id])).toEqual(['2']);
});
