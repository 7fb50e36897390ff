import type { Tenant } from '@dueline/contracts';
import { guardedMoves, insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
let ruleId: string;

beforeAll(async () => {
  shared = await testDb();
  tenant = await insertTenant(shared.db);
  const rule = await insertRow(shared.db, 'trigger_rule', {
    ...tenantColumns(),
    name: 'rule',
    source_type: 'attribute_changed',
    source_config: {},
    action_type: 'send_message',
    action_config: {},
  });
  ruleId = String(rule.id);
});
afterAll(() => shared[Symbol.asyncDispose]());

const tenantColumns = () => ({ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId });
const lease = (when: boolean) => (when ? new Date() : null);
let serial = 0;
const nextSerial = (): number => {
  serial += 1;
  return serial;
};

interface GuardedTable {
  table: string;
  statuses: readonly string[];
  insert(): Record<string, unknown>;
  /** What the table's checks want beside the status. */
  beside(status: string): Record<string, unknown>;
}

const TABLES: GuardedTable[] = [
  {
    table: 'scheduled_action',
    statuses: ['pending', 'processing', 'done', 'failed', 'cancelled'],
    insert: () => ({
      ...{ user_id: lineUserId(1), action_type: 'send_message', action_config: {}, execute_at: new Date() },
      ...{ due_at: new Date(), dedup_key: String(nextSerial()) },
    }),
    beside: (status) => ({
      lease_until: lease(status === 'processing'),
      executed_at: lease(['done', 'failed', 'cancelled'].includes(status)),
      cancel_reason: status === 'cancelled' ? 'rule_deleted' : null,
      gen: status === 'pending' ? 1 : 0, // so that a revival is judged by its move alone
    }),
  },
  {
    table: 'delivery',
    statuses: ['planned', 'sending', 'accepted', 'refused', 'split', 'unknown', 'expired', 'cancelled'],
    insert: () => ({
      ...{ kind: 'action', logical_id: String(nextSerial()), endpoint: 'push', retry_key: crypto.randomUUID() },
      ...{ body: '{}', body_sha256: '', deliver_until: new Date() },
    }),
    beside: (status) => ({ lease_until: lease(status === 'sending'), accepted_at: lease(status === 'accepted') }),
  },
  {
    table: 'event_outbox',
    statuses: ['pending', 'published', 'dead'],
    insert: () => ({
      ...{ topic: 'attribute_changed', user_id: lineUserId(1), payload: {}, root_id: crypto.randomUUID() },
    }),
    beside: (status) => ({ lease_until: lease(status === 'published') }),
  },
  {
    table: 'campaign',
    statuses: ['draft', 'scheduled', 'sending', 'paused', 'sent', 'failed', 'cancel', 'needs_attention'],
    insert: () => ({ name: 'campaign', cast_type: 'broadcast', start_date: new Date(), claimed_at: new Date() }),
    beside: () => ({}),
  },
  {
    table: 'scheduled_trigger_execution',
    statuses: ['processing', 'completed', 'failed', 'cancelled', 'skipped'],
    insert: () => ({ trigger_rule_id: ruleId, scheduled_at: new Date(nextSerial() * 1_000) }),
    beside: () => ({}),
  },
];

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : 'none');

test.for(TABLES)(
  '$table: exactly the declared moves pass, each only with a higher fence',
  async ({ table, statuses, insert, beside }) => {
    const { db } = shared;
    const declared = await guardedMoves(db, table);
    expect(declared.length).toBeGreaterThan(3);
    const unexpected: string[] = [];
    for (const from of statuses) {
      for (const to of statuses) {
        const row = await insertRow(db, table, {
          ...tenantColumns(),
          ...insert(),
          fence: 5,
          status: from,
          ...beside(from),
        });
        for (const fence of [4, 5, 6]) {
          const cells = Object.entries({
            ...beside(to),
            ...(table === 'scheduled_action' ? { gen: 2, attempt: 1 } : {}),
          });
          const found = await db.$client
            .query(
              `update ${table} set status = $1, fence = $2 ${cells.map(([name], at) => `, ${name} = $${at + 4}`).join('')} where id = $3`,
              [to, fence, row.id, ...cells.map(([, cell]) => cell)],
            )
            .then(() => 'passed', codeOf);
          const isMove = declared.includes(`${from}>${to}`);
          const wanted =
            from === to && fence === 5
              ? 'passed'
              : fence < 5
                ? 'DL001'
                : !isMove
                  ? 'DL002'
                  : fence === 5
                    ? 'DL003'
                    : 'passed';
          if (found !== wanted) unexpected.push(`${from}>${to} fence ${fence}: ${found}, not ${wanted}`);
        }
      }
    }
    expect(unexpected).toEqual([]);
  },
);

const insertDelivery = () => {
  const [, delivery] = TABLES;
  if (delivery === undefined) throw new Error('no delivery table');
  return insertRow(shared.db, 'delivery', { ...tenantColumns(), ...delivery.insert() });
};

test.for([
  ['body', "body = 'other'"],
  ['its hash', "body_sha256 = 'other'"],
  ['recipient', `user_id = '${lineUserId(2)}'`],
  ['account', 'line_oa_id = line_oa_id + 1'],
  ['rule', 'trigger_rule_id = 1'],
  ['retry key', 'retry_key = gen_random_uuid()'],
  ['body under a new epoch', "body = 'other', epoch = epoch + 1"],
] as const)('a delivery keeps its %s', async ([, change]) => {
  const { id } = await insertDelivery();
  const changed = shared.db.$client.query(`update delivery set ${change}, fence = fence + 1 where id = $1`, [id]);
  await expect(changed).rejects.toMatchObject({ code: 'DL004' });
});

test('a delivery of a campaign keeps its endpoint', async () => {
  const { id: campaignId } = await insertRow(shared.db, 'campaign', {
    ...{ ...tenantColumns(), name: 'campaign', cast_type: 'broadcast' },
  });
  const { id } = await insertRow(shared.db, 'delivery', {
    ...{ ...tenantColumns(), ...TABLES[1]?.insert(), kind: 'campaign', endpoint: 'multicast' },
    ...{ campaign_id: campaignId, chunk_no: 0 },
  });
  const changed = shared.db.$client.query("update delivery set endpoint = 'broadcast' where id = $1", [id]);
  await expect(changed).rejects.toMatchObject({ code: 'DL004' });
});

test('a delivery takes a new retry key only with a new epoch', async () => {
  const { id } = await insertDelivery();
  const { rowCount } = await shared.db.$client.query(
    'update delivery set retry_key = gen_random_uuid(), epoch = epoch + 1, fence = fence + 1 where id = $1',
    [id],
  );
  expect(rowCount).toBe(1);
});

test.for([
  ['a new execute_at without a new fence', "execute_at = execute_at + interval '1 s'", {}],
  ['to be of another account', 'line_oa_id = line_oa_id + 1', {}],
  ['to be of another rule', 'trigger_rule_id = 1', {}],
  ['to be done without a claim and without a try', "status = 'done', executed_at = now(), fence = fence + 1", {}],
  ['a branch without a new fence', "branch = 'clicked'", {}],
  ['a second branch', "branch = 'expired', fence = fence + 1", { branch: 'clicked' }],
  ['to forget its branch', 'branch = null, fence = fence + 1', { branch: 'clicked' }],
  [
    'a revival without a new gen',
    "status = 'pending', executed_at = null, fence = fence + 1",
    { status: 'failed', executed_at: new Date() },
  ],
] as const)('a scheduled action refuses %s', async ([, change, state]) => {
  const [action] = TABLES;
  const { id } = await insertRow(shared.db, 'scheduled_action', { ...tenantColumns(), ...action?.insert(), ...state });
  await expect(
    shared.db.$client.query(`update scheduled_action set ${change} where id = $1`, [id]),
  ).rejects.toMatchObject({
    code: 'DL004',
  });
});

test('a scheduled action that waits again under a new gen forgets its branch', async () => {
  const [action] = TABLES;
  const row = { ...tenantColumns(), ...action?.insert(), branch: 'clicked', status: 'cancelled', cancel_reason: 'x' };
  const { id } = await insertRow(shared.db, 'scheduled_action', { ...row, executed_at: new Date() });
  const { rowCount } = await shared.db.$client.query(
    "update scheduled_action set status = 'pending', executed_at = null, branch = null, gen = 1, fence = fence + 1 where id = $1",
    [id],
  );
  expect(rowCount).toBe(1);
});

test.for([
  ['an account', 'delete from line_oa'],
  ['all accounts', 'truncate line_oa cascade'],
  ['a rule', 'delete from trigger_rule'],
  ['all rules', 'truncate trigger_rule cascade'],
  ['the key of an account', 'update line_oa set organization_id = organization_id + 1'],
  ['the account of a rule', 'update trigger_rule set line_oa_id = line_oa_id + 1'],
] as const)('nothing takes %s away from what names it without a foreign key', async ([, statement]) => {
  await expect(shared.db.$client.query(statement)).rejects.toMatchObject({ code: 'DL004' });
});
