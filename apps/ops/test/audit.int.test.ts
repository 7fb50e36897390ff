import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Db } from '@dueline/db';
import { testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { audit, INVARIANTS } from '../src/audit.ts';
import { CAMPAIGN_PLANTS } from './campaign-plants.ts';
import { CYCLE_PLANTS } from './cycle-plants.ts';
import { healthyDatabase } from './healthy.ts';
import { MENU_PLANTS } from './healthy-menus.ts';

const LIMITS = { leaseOverSeconds: 60, silentSeconds: 900, overdueSeconds: 300, historyDays: 31 };

const event = (columns: string, values: string) => `
  insert into event_outbox (topic, organization_id, line_oa_id, user_id, payload, root_id, ${columns})
  select 'attribute_changed', organization_id, line_oa_id, user_id, '{}', gen_random_uuid(), ${values} from line_user limit 1`;
const action = (columns: string, values: string) => `
  insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, due_at, dedup_key, ${columns})
  select organization_id, line_oa_id, user_id, 'send_message', '{}', app_now(), 'planted', ${values} from line_user limit 1`;
const trouble = (columns: string, values: string) => `
  insert into account_trouble (organization_id, line_oa_id, ${columns}) select organization_id, id, ${values} from line_oa limit 1`;
const HOUR_AGO = `app_now() - interval '1 hour'`;

/** For each invariant the faults that it must find, alone. */
const PLANTS: readonly (readonly [id: string, fault: string, sql: string])[] = [
  ...CAMPAIGN_PLANTS,
  ...CYCLE_PLANTS,
  ...MENU_PLANTS,
  ['I32.pause', 'paused for no reason', `update line_oa set status = 'paused_auth'`],
  ['I32.pause', 'a reason without a pause', trouble('paused_at, reason_code', `app_now(), 'by_person'`)],
  [
    'I32.look',
    'nobody looks',
    `${trouble('paused_at, reason_code, looked_at', `app_now(), 'held_back', ${HOUR_AGO}`)};
     update line_oa set status = 'paused_quota' where id = (select line_oa_id from account_trouble)`,
  ],
  ['I14.event_outbox', 'nobody decides it', event('status, lease_until', `'published', ${HOUR_AGO}`)],
  [
    'I14.batch_in_hand',
    'nobody looks at it',
    `insert into batch_in_hand (claimed_by, kind, ids, lease_until) values ('w:1', 'action', '{1}', ${HOUR_AGO})`,
  ],
  ['I15.event_outbox', 'nobody announces it', event('recorded_at', HOUR_AGO)],
  ['I17.event_outbox', 'it was given up', event('status', `'dead'`)],
  ['I26', 'a column without zone', 'create table planted (at timestamp)'],
  [
    'I33',
    'fired while it observed',
    `insert into trigger_rule_version (organization_id, line_oa_id, trigger_rule_id, version, snapshot)
     select organization_id, line_oa_id, id, 99, '{"mode": "observe"}' from trigger_rule limit 1;
     insert into trigger_log (organization_id, line_oa_id, user_id, trigger_rule_id, rule_version, trigger_on, decision, reason_code)
     select organization_id, line_oa_id, 'U', id, 99, 'attribute_changed', 'fired', 'matched' from trigger_rule limit 1`,
  ],
  ['I23', 'its rule was deleted before', `update trigger_rule set deleted_date = ${HOUR_AGO}`],
  [
    'I14.scheduled_action',
    'nobody takes it back',
    action('execute_at, status, lease_until', `app_now(), 'processing', ${HOUR_AGO}`),
  ],
  ['I15.scheduled_action', 'nobody claims it', action('execute_at', HOUR_AGO)],
  ['I29.done', 'no history', `delete from trigger_log where decision = 'fired'`],
  [
    'I29.done',
    'fired twice',
    `insert into trigger_log (organization_id, line_oa_id, user_id, trigger_on, decision, reason_code, scheduled_action_id)
     select organization_id, line_oa_id, user_id, trigger_on, decision, reason_code, scheduled_action_id
       from trigger_log where decision = 'fired'`,
  ],
  ['I29.cancelled', 'no history', `delete from trigger_log where decision = 'cancelled'`],
  [
    'I29.cancelled',
    'a history that is not true',
    `update scheduled_action set status = 'failed' where status = 'cancelled'`,
  ],
  ['I4.delivery', 'ended under the fence of its owner, who had not ended it', 'update delivery set fence = fence - 1'],
  [
    'I4.delivery',
    'ended over the head of its owner',
    `insert into delivery_attempt (delivery_id, attempt_no, organization_id, line_oa_id, fence, claimed_by, retry_key)
     select delivery_id, 2, organization_id, line_oa_id, fence + 2, 'line:2', retry_key from delivery_attempt
      where delivery_id = (select id from delivery where kind = 'action');
     update delivery set fence = fence + 2`,
  ],
  [
    'I6.key',
    'a key out of nowhere',
    `with changed as (update delivery set retry_key = gen_random_uuid() returning id, retry_key)
     update delivery_attempt set retry_key = changed.retry_key from changed where delivery_id = changed.id`,
  ],
  ['I6.attempt', 'another key than the row', 'update delivery_attempt set retry_key = gen_random_uuid()'],
  [
    'I6.attempt',
    'a fence that the row never had',
    `update delivery_attempt set fence = fence + 100;
     update delivery set status = case when group_size > 1 then 'cancelled' else 'refused' end, accepted_at = null`,
  ],
  [
    'I13',
    'done without a delivery',
    `delete from delivery_attempt using delivery where delivery.id = delivery_id and kind = 'action';
     delete from delivery where kind = 'action'`,
  ],
  [
    'I13',
    'a delivery without done',
    `update delivery set scheduled_action_id = action.id from scheduled_action as action where action.status = 'cancelled'`,
  ],
  ['I13', 'a part is missing', `update delivery set group_size = 2 where kind = 'action'`],
  [
    'I13d',
    'a part before the one that it follows',
    `update delivery set status = 'refused', accepted_at = null where ordinal = 0 and group_size > 1`,
  ],
  [
    'I13d',
    'a part that nothing lets go',
    `update delivery set status = 'planned', accepted_at = null, next_attempt_at = 'infinity' where ordinal > 0 and group_size > 1`,
  ],
  ['I13b', 'no attempt that LINE accepted', `delete from delivery_attempt`],
  ['I13b', 'no request id', 'update delivery set line_request_id = null'],
  [
    'I13b',
    'accepted twice',
    `insert into delivery_attempt (delivery_id, attempt_no, organization_id, line_oa_id, fence, claimed_by, retry_key, finished_at, outcome)
     select delivery_id, 2, organization_id, line_oa_id, fence - 1, claimed_by, retry_key, finished_at, outcome from delivery_attempt
      where delivery_id = (select id from delivery where kind = 'action')`,
  ],
  [
    'I13c',
    'nobody announces it',
    `update delivery set status = 'planned', accepted_at = null, published_at = null, next_attempt_at = ${HOUR_AGO}
      where kind = 'action'`,
  ],
  [
    'I14.delivery',
    'nobody takes it back',
    `update delivery set status = 'sending', accepted_at = null, lease_until = ${HOUR_AGO} where kind = 'action'`,
  ],
  [
    'I30.scheduled_action',
    'another organization',
    `update scheduled_action set organization_id = 0 where status = 'cancelled'`,
  ],
  [
    'I30.scheduled_action',
    'no such rule',
    `update scheduled_action set trigger_rule_id = 0 where status = 'cancelled'`,
  ],
  ['I30.delivery', 'another organization', `update delivery set organization_id = 0 where kind = 'action'`],
  ['I30.delivery', 'no such rule', `update delivery set trigger_rule_id = 0 where kind = 'action'`],
  [
    'I30.beside',
    'another account',
    `insert into scheduled_action_edit (scheduled_action_id, organization_id, line_oa_id, operation, before, after, edited_by)
     select id, organization_id, 0, 'edit', '{}', '{}', 'x' from scheduled_action limit 1`,
  ],
];

async function plant(db: Db, sql: string): Promise<void> {
  const guarded = [
    'event_outbox',
    'scheduled_action',
    'delivery',
    'trigger_rule',
    'campaign',
    'campaign_chunk',
    'scheduled_action_edit',
    'rich_menu_wish',
  ];
  for (const table of guarded) await db.$client.query(`alter table ${table} disable trigger user`);
  await db.$client.query(sql);
}

test('a healthy database passes', async () => {
  await using database = await testDb();
  await healthyDatabase(database.db);

  const { ok, checks } = await audit(database.db, LIMITS);

  expect(checks.filter(({ violations }) => violations > 0)).toEqual([]);
  expect(ok).toBe(true);
});

test.for(PLANTS)('%s finds: %s [SEM-064, SEM-118]', async ([id, , sql]) => {
  await using database = await testDb();
  await healthyDatabase(database.db);
  await plant(database.db, sql);

  const { ok, checks } = await audit(database.db, LIMITS);

  const found = checks.filter(({ violations }) => violations > 0);
  expect(found.map((check) => check.id)).toEqual([id]);
  expect(found[0]?.sample).not.toEqual([]);
  expect(ok).toBe(false);
});

test.for(['account', 'organization'] as const)('what a stopped %s holds up is no fault of the data', async (what) => {
  await using database = await testDb();
  await healthyDatabase(database.db);
  const held = PLANTS.filter(([id]) => id === 'I15.campaign' || id === 'I15.scheduled_action');
  for (const [, , sql] of held) await plant(database.db, sql);
  expect((await audit(database.db, LIMITS)).ok).toBe(false);
  await database.db.$client.query(
    `update ${what === 'account' ? 'line_oa' : 'organization'} set stopped_at = app_now()`,
  );
  expect((await audit(database.db, LIMITS)).checks.filter(({ violations }) => violations > 0)).toEqual([]);
});

test('every invariant has a fault that it must find, and an id of its own', () => {
  expect(new Set(PLANTS.map(([id]) => id))).toEqual(new Set(INVARIANTS.map(({ id }) => id)));
  expect(new Set(INVARIANTS.map(({ id }) => id)).size).toBe(INVARIANTS.length);
});

test('./dueline audit --json says what was checked, and exits with 1 when something is wrong', async () => {
  await using database = await testDb();
  await healthyDatabase(database.db);
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const run = (...options: string[]) =>
    promisify(execFile)(process.execPath, [main, 'audit', ...options], {
      env: { DATABASE_URL: database.urlOf('ops') },
    });

  expect(JSON.parse((await run('--json')).stdout)).toMatchObject({ ok: true, checks: { length: INVARIANTS.length } });
  await plant(
    database.db,
    'update delivery_attempt set fence = fence + 100 where delivery_id = (select min(id) from delivery)',
  );
  await expect(run('--json')).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining('"ok":false') });
  await expect(run()).rejects.toMatchObject({ code: 1, stdout: expect.stringMatching(/^ {5}1 {2}I6\.attempt/m) });
});
