import { APPS_WITH_ROLES, type AppWithRole, checkPrivileges, grantPrivileges, roleOf } from '@dueline/db';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PRIVILEGES } from '../src/privileges/table.ts';
import { insertEverything } from './every-table.ts';

let shared: TestDb;
const clients = new Map<AppWithRole, pg.Client>();
const as = (app: AppWithRole): pg.Client => {
  const client = clients.get(app);
  if (client === undefined) throw new Error(`${app} is not connected`);
  return client;
};

beforeAll(async () => {
  shared = await testDb();
  await insertEverything(shared.db, await insertTenant(shared.db));
  await insertEverything(shared.db, await insertTenant(shared.db));
  for (const app of APPS_WITH_ROLES) {
    const client = new pg.Client({ connectionString: shared.urlOf(app) });
    await client.connect();
    clients.set(app, client);
  }
});
afterAll(async () => {
  await Promise.all([...clients.values()].map((client) => client.end()));
  await shared[Symbol.asyncDispose]();
});

/** SQLSTATE of what became of it, which is undone; undefined when the database did it. */
async function codeOf(app: AppWithRole, statement: string): Promise<string | undefined> {
  await as(app).query('begin');
  try {
    await as(app).query(statement);
    return undefined;
  } catch (error) {
    return error instanceof pg.DatabaseError ? error.code : String(error);
  } finally {
    await as(app).query('rollback');
  }
}

const WORKERS = APPS_WITH_ROLES.filter((app) => app !== 'ops');

/** What nobody may but the owner, and what one app may and the others must not. */
const REFUSED: readonly (readonly [readonly AppWithRole[], string])[] = [
  // the shape of the database
  [APPS_WITH_ROLES, 'create table stolen (id bigint)'],
  [APPS_WITH_ROLES, 'create schema stolen'],
  [APPS_WITH_ROLES, 'create function app_now_too() returns timestamptz language sql as $$ select now() $$'],
  [
    APPS_WITH_ROLES,
    "create or replace function app_now() returns timestamptz language sql stable as $$ select 'epoch'::timestamptz $$",
  ],
  [APPS_WITH_ROLES, 'drop table delivery cascade'],
  [APPS_WITH_ROLES, 'drop table trigger_log_default'],
  [APPS_WITH_ROLES, 'alter table delivery disable trigger delivery_guard'],
  [APPS_WITH_ROLES, 'alter table line_oa disable row level security'],
  [APPS_WITH_ROLES, 'drop policy tenant_isolation on line_oa'],
  [APPS_WITH_ROLES, 'truncate delivery'],
  [APPS_WITH_ROLES, 'truncate trigger_log'],
  [APPS_WITH_ROLES, "set local session_replication_role = 'replica'"],
  [APPS_WITH_ROLES, 'create role stolen'],
  [APPS_WITH_ROLES, 'grant dueline_ops to dueline_pg_listener'],
  [APPS_WITH_ROLES, "insert into schema_migration (name, sha256) values ('9999_stolen.sql', '')"],
  [APPS_WITH_ROLES, 'delete from schema_migration'],
  [WORKERS, 'set local role dueline_tenant'],
  // months of history: the scheduler's alone, and of nothing else
  [APPS_WITH_ROLES.filter((app) => app !== 'cron-scheduler'), "select make_history_months('trigger_log', 1)"],
  [APPS_WITH_ROLES.filter((app) => app !== 'cron-scheduler'), "select detach_history_month('trigger_log', 1)"],
  [
    APPS_WITH_ROLES.filter((app) => app !== 'cron-scheduler'),
    "select drop_history_month('trigger_log_2001_01_pruned')",
  ],
  // secrets of accounts: line-delivery opens them, people store them and read none
  [APPS_WITH_ROLES.filter((app) => app !== 'line-delivery'), 'select channel_access_token_sealed from line_oa'],
  [APPS_WITH_ROLES.filter((app) => app !== 'line-delivery'), 'select channel_secret_sealed from line_oa'],
  [APPS_WITH_ROLES.filter((app) => app !== 'line-delivery'), 'select webhook_secret_sealed from line_oa'],
  [APPS_WITH_ROLES.filter((app) => app !== 'line-delivery'), 'select * from line_oa'],
  [WORKERS, "update line_oa set channel_access_token_sealed = 'stolen'"],
  [WORKERS, "insert into line_oa (organization_id, channel_id, name) values (1, '1', 'stolen')"],
  [WORKERS, "insert into organization (name) values ('stolen')"],
  [
    APPS_WITH_ROLES,
    "insert into line_oa (organization_id, channel_id, name, status) values (1, '1', 'stolen', 'active')",
  ],
  [APPS_WITH_ROLES, 'delete from line_oa'],
  // what rules say, and what was decided
  [WORKERS, 'update trigger_rule set enabled = false'],
  [WORKERS, 'insert into trigger_rule default values'],
  [APPS_WITH_ROLES, 'update trigger_rule_version set version = 2'],
  [APPS_WITH_ROLES, "update trigger_log set decision = 'fired'"],
  [APPS_WITH_ROLES, 'delete from trigger_log'],
  [APPS_WITH_ROLES, 'delete from event_archive'],
  [APPS_WITH_ROLES, "update audit_log set done_by = 'nobody'"],
  [APPS_WITH_ROLES, 'delete from audit_log'],
  [APPS_WITH_ROLES, 'delete from scheduled_action'],
  [['pg-listener', 'campaign-dispatcher', 'line-delivery'], 'insert into scheduled_action default values'],
  [['pg-listener', 'campaign-dispatcher', 'line-delivery'], "update scheduled_action set status = 'done'"],
  // the ledger
  [APPS_WITH_ROLES, 'delete from delivery'],
  [['pg-listener', 'cron-scheduler', 'campaign-dispatcher'], 'insert into delivery default values'],
  [['pg-listener', 'trigger-worker', 'campaign-dispatcher'], "update delivery set status = 'accepted'"],
  [['pg-listener', 'trigger-worker', 'cron-scheduler', 'campaign-dispatcher'], "update delivery set body = '{}'"],
  [['pg-listener', 'trigger-worker', 'cron-scheduler', 'campaign-dispatcher'], 'select body from delivery'],
  [APPS_WITH_ROLES.filter((app) => app !== 'line-delivery'), 'insert into delivery_attempt default values'],
  // people
  [['pg-listener', 'cron-scheduler', 'campaign-dispatcher'], 'select user_id from line_user'],
  [['line-delivery'], 'select attributes from line_user'],
  [['line-delivery'], 'select display_name from line_user'],
  [APPS_WITH_ROLES.filter((app) => app !== 'trigger-worker'), "update line_user set attributes = '{}'"],
  [APPS_WITH_ROLES, 'delete from line_user'],
  [['pg-listener', 'cron-scheduler', 'campaign-dispatcher', 'line-delivery'], 'select answers from form_submission'],
  [['pg-listener', 'cron-scheduler', 'campaign-dispatcher', 'line-delivery'], 'select payload from custom_event'],
  [['pg-listener', 'cron-scheduler', 'campaign-dispatcher', 'line-delivery'], 'select payload from event_outbox'],
  [APPS_WITH_ROLES, 'delete from link_click'],
  // campaigns
  [WORKERS, "insert into campaign (name) values ('stolen')"],
  [WORKERS, "update campaign set messages = '[]'"],
  [['pg-listener', 'trigger-worker', 'cron-scheduler', 'campaign-dispatcher'], 'select messages from campaign'],
  [['pg-listener', 'trigger-worker', 'cron-scheduler'], "update campaign set status = 'sending'"],
  [APPS_WITH_ROLES.filter((app) => app !== 'line-delivery'), 'insert into campaign_chunk default values'],
  // the outbox is filled by triggers, and emptied by who decides
  [WORKERS, 'insert into event_outbox default values'],
  [APPS_WITH_ROLES.filter((app) => app !== 'trigger-worker'), 'delete from event_outbox'],
  [APPS_WITH_ROLES, 'delete from notify_gate'],
];

test.for(REFUSED)('the database refuses to %s: %s', async ([apps, statement]) => {
  const answers = await Promise.all(apps.map(async (app) => [app, await codeOf(app, statement)]));
  expect(answers).toEqual(apps.map((app) => [app, '42501']));
});

test('the scheduler cannot touch a table that is not split by months, nor a month that is in use', async () => {
  for (const call of [
    "make_history_months('delivery', 1)",
    "detach_history_month('delivery', 1)",
    "detach_history_month('trigger_log', 0)",
    "drop_history_month('delivery')",
    "drop_history_month('delivery_2026_01_pruned')",
    "drop_history_month('trigger_log_default')",
  ])
    expect([call, await codeOf('cron-scheduler', `select ${call}`)]).toEqual([call, '22023']);
});

test('who holds rows without changing them cannot change them', async () => {
  expect(await codeOf('trigger-worker', 'select from audience for share')).toBeUndefined();
  expect(await codeOf('trigger-worker', "update audience set name = 'stolen'")).toBe('42501');
  expect(await codeOf('trigger-worker', 'update audience set id = 7')).toBe('428C9');
  expect(await codeOf('line-delivery', 'select from user_rich_menu for update')).toBeUndefined();
  expect(await codeOf('line-delivery', 'update user_rich_menu set rich_menu_id = null')).toBe('42501');
});

test('each app sees the rows of every tenant in each table that it may read', async () => {
  for (const app of APPS_WITH_ROLES) {
    for (const [table, { select }] of Object.entries(PRIVILEGES[app])) {
      if (select === undefined) continue;
      const [owners] = await columnOf(shared.db, `select count(*) from ${table}`);
      const { rows } = await as(app).query<{ count: string }>(`select count(*) from ${table}`);
      expect([app, table, rows[0]?.count]).toEqual([app, table, owners]);
    }
  }
});

test('a command of people within a tenant sees that tenant alone', async () => {
  const [lineOaId] = await columnOf(shared.db, 'select min(id) from line_oa');
  await as('ops').query('begin');
  try {
    await as('ops').query(
      `select set_config('app.organization_id', organization_id::text, true), set_config('app.line_oa_id', id::text, true)
         from line_oa where id = $1`,
      [lineOaId],
    );
    await as('ops').query('set local role dueline_tenant');
    const { rows } = await as('ops').query('select distinct line_oa_id from line_user');
    expect(rows).toEqual([{ line_oa_id: lineOaId }]);
  } finally {
    await as('ops').query('rollback');
  }
});

test('every table of the schema is one of the table of rights', async () => {
  const tables = await columnOf(
    shared.db,
    `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  );
  const named = new Set(Object.values(PRIVILEGES).flatMap((rights) => Object.keys(rights)));
  expect(tables.filter((table) => !named.has(String(table)))).toEqual([]);
});

test('a right that somebody gave or took by hand is put right, and a second look finds nothing to do', async () => {
  await using own = await testDb();
  const { url } = own;
  expect(await checkPrivileges({ url })).toEqual([]);
  await own.db.$client.query(`
    grant select on line_oa to dueline_pg_listener;
    grant update (name) on line_oa to dueline_cron_scheduler;
    revoke insert on trigger_log from dueline_trigger_worker;
    drop policy every_tenant on campaign;
    grant create on schema public to public`);
  expect([...(await checkPrivileges({ url }))].sort()).toEqual([
    `create policy every_tenant on campaign to ${APPS_WITH_ROLES.map(roleOf).join(', ')} using (true)`,
    'grant INSERT on trigger_log to dueline_trigger_worker',
    'grant SELECT (id, organization_id, channel_id, name, timezone, token_kind, status, stopped_at, deleted_date, quiet_from, quiet_to, quiet_policy, quiet_zone, spread_minutes, created_date) on line_oa to dueline_pg_listener',
    'revoke SELECT on line_oa from dueline_pg_listener',
    'revoke UPDATE (name) on line_oa from dueline_cron_scheduler',
    'revoke create on schema public from public',
  ]);
  await grantPrivileges({ url });
  expect(await checkPrivileges({ url })).toEqual([]);
  const hidden = await columnOf(
    own.db,
    `select has_column_privilege($1, 'line_oa', 'name', 'select') and not has_table_privilege($1, 'line_oa', 'select')`,
    [roleOf('pg-listener')],
  );
  expect(hidden).toEqual(['true']); // the columns that it may read came back with the table's right gone
});
