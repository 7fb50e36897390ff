import type { Tenant } from '@dueline/contracts';
import { inTenant, sql, type Tx } from '@dueline/db';
import {
  columnOf,
  insertRow,
  insertTenant,
  insertUsers,
  moveProductTime,
  type TestDb,
  testDb,
} from '@dueline/db/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { columnsOf, insertEverything } from './every-table.ts';

let shared: TestDb;
let mine: Tenant;
let other: Tenant;

/** Written by workers only, or without a foreign key on purpose: they are many, and triggers and workers name the tenant of the row they follow. */
const WITHOUT_TENANT_KEY = ['attribute_change', 'delivery_attempt', 'event_archive', 'event_outbox', 'trigger_log'];
/** Checked once per statement instead. */
const BY_STATEMENT = ['action_wait', 'delivery', 'scheduled_action', 'scheduled_action_edit'];
const READ_ONLY = [
  'account_trouble',
  'audit_log',
  'awaited_source',
  'broadcast_limit',
  'campaign_chunk',
  'campaign_pace',
  'cycle_schedule',
  'delivery_attempt',
  'message_tally',
  'rich_menu_wish',
  'root_budget',
  'scheduled_action_edit',
  'scheduled_trigger_execution',
  'month_quota',
  'sent_count',
  'superseded_calendar',
  'trigger_rule_version',
  'user_rich_menu',
];

const tenantTables = () =>
  columnOf(
    shared.db,
    `select relname from pg_class join pg_attribute on attrelid = pg_class.oid and attname = 'line_oa_id'
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by relname`,
  ).then((names) => names.map(String));

const copiedColumns = async (table: string) =>
  (
    await columnOf(
      shared.db,
      `select attname from pg_attribute where attrelid = $1::regclass and attnum > 0 and attidentity = '' and attgenerated = '' and attname not in ('organization_id', 'line_oa_id')`,
      [table],
    )
  ).map(String);
/** What a copy of a row must have of its own. */
const ANOTHER: Record<string, string> = { dedup_key: 'gen_random_uuid()', logical_id: 'gen_random_uuid()', n: 'n + 1' };

beforeAll(async () => {
  shared = await testDb();
  mine = await insertTenant(shared.db);
  other = await insertTenant(shared.db);
  await insertEverything(shared.db, mine);
  await insertEverything(shared.db, other);
});
afterAll(() => shared[Symbol.asyncDispose]());

const asTenant = <T>(work: (tx: Tx) => Promise<T>) => inTenant(shared.db, mine, work);
const count = (tx: Tx, table: string, where: string) =>
  tx
    .execute<{ count: string }>(sql.raw(`select count(*) from ${table} where ${where}`))
    .then(({ rows }) => Number(rows[0]?.count));

test('every table with an account has row level security', async () => {
  const secured = await columnOf(shared.db, `select relname from pg_class where relrowsecurity order by relname`);
  expect(secured).toEqual([...(await tenantTables()), 'line_oa', 'organization'].sort());
});

test('a tenant sees its own row of every table and none of another', async () => {
  for (const table of await tenantTables()) {
    await asTenant(async (tx) => {
      expect([table, await count(tx, table, `line_oa_id = ${mine.lineOaId}`)]).toEqual([table, 1]);
      expect([table, await count(tx, table, `line_oa_id <> ${mine.lineOaId}`)]).toEqual([table, 0]);
    });
  }
  await asTenant(async (tx) => {
    expect((await tx.execute(sql`select id from line_oa`)).rows).toEqual([{ id: mine.lineOaId }]);
    expect((await tx.execute(sql`select id from organization`)).rows).toEqual([{ id: mine.organizationId }]);
  });
});

test("a tenant cannot update or delete another's row of any table", async () => {
  for (const table of (await tenantTables()).filter((name) => !READ_ONLY.includes(name))) {
    const touched = await asTenant(async (tx) => {
      const updated = await tx.execute(
        sql.raw(`update ${table} set line_oa_id = line_oa_id where line_oa_id = ${other.lineOaId}`),
      );
      const deleted = await tx.execute(sql.raw(`delete from ${table} where line_oa_id = ${other.lineOaId}`));
      return [table, updated.rowCount, deleted.rowCount];
    });
    expect(touched).toEqual([table, 0, 0]);
  }
});

test("a tenant cannot insert another's row into any table, nor give its own away", async () => {
  for (const table of await tenantTables()) {
    const copied = (await copiedColumns(table)).map((name) => `"${name}"`).join(', ');
    const insert = `insert into ${table} (organization_id, line_oa_id, ${copied})
      select ${other.organizationId}, ${other.lineOaId}, ${copied} from ${table}`;
    await expect(
      asTenant((tx) => tx.execute(sql.raw(insert))),
      table,
    ).rejects.toMatchObject({ code: '42501' });
    const giveAway = `update ${table} set organization_id = ${other.organizationId}, line_oa_id = ${other.lineOaId}`;
    await expect(
      asTenant((tx) => tx.execute(sql.raw(giveAway))),
      table,
    ).rejects.toMatchObject({
      code: expect.stringMatching(/^(42501|DL004)$/),
    });
  }
});

test.for([
  'select channel_access_token_sealed from line_oa',
  'select * from line_oa',
  "update line_oa set name = 'x'",
  'delete from organization',
  'select * from notify_gate',
  'insert into delivery_attempt default values',
  'insert into campaign_chunk default values',
  'delete from scheduled_action_edit',
  'delete from audit_log',
])('a tenant may not: %s', async (statement) => {
  await expect(asTenant((tx) => tx.execute(sql.raw(statement)))).rejects.toMatchObject({ code: '42501' });
});

test('the tenant role ends with its transaction', async () => {
  await asTenant((tx) => tx.execute(sql`select 1`));
  const found = await columnOf(
    shared.db,
    `select current_user::text || coalesce(current_setting('app.line_oa_id', true), '')`,
  );
  expect(found).toEqual(['postgres']);
});

test('a tenant that is not named sees nothing', async () => {
  const client = await shared.db.$client.connect();
  try {
    await client.query('begin; set local role dueline_tenant');
    for (const table of await tenantTables()) expect((await client.query(`select from ${table}`)).rowCount).toBe(0);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('a change by a tenant reaches the outbox, moved product time included', async () => {
  await using own = await testDb();
  const tenant = await insertTenant(own.db);
  await insertUsers(own.db, tenant, 1);
  await moveProductTime(own.db, 60);
  await inTenant(own.db, tenant, (tx) => tx.execute(sql`update line_user set attributes = '{"a": 1}'`));
  expect(await columnOf(own.db, 'select count(*) from event_outbox')).toEqual(['1']);
});

test('no row can name one organization and the account of another', async () => {
  const mixed = { organizationId: mine.organizationId, lineOaId: (await insertTenant(shared.db)).lineOaId };
  const guarded = await columnOf(
    shared.db,
    `select conrelid::regclass::text from pg_constraint where contype = 'f' and array_length(conkey, 1) >= 2 and conkey @> array[
              (select attnum from pg_attribute where attrelid = conrelid and attname = 'organization_id'),
              (select attnum from pg_attribute where attrelid = conrelid and attname = 'line_oa_id')]
      union
     select tgrelid::regclass::text from pg_trigger
      where tgfoid in ('refuse_strangers'::regproc, 'refuse_other_tenants_action'::regproc) and tgtype & 5 = 4`,
  );
  expect((await tenantTables()).filter((table) => !guarded.includes(table))).toEqual(WITHOUT_TENANT_KEY);
  for (const table of BY_STATEMENT) {
    for (const { organizationId, lineOaId } of [
      mixed,
      { ...mixed, organizationId: '0' },
      { ...mixed, lineOaId: '0' },
    ]) {
      const names = await copiedColumns(table);
      const insert = `insert into ${table} (organization_id, line_oa_id, ${names.map((name) => `"${name}"`).join(', ')})
        select ${organizationId}, ${lineOaId}, ${names.map((name) => ANOTHER[name] ?? `"${name}"`).join(', ')}
          from ${table} where line_oa_id = ${mine.lineOaId}`;
      const inserted = shared.db.$client.query(insert);
      await expect(inserted, `${table} ${organizationId} ${lineOaId}`).rejects.toMatchObject({ code: '23503' });
    }
  }
  await expect(insertUsers(shared.db, mixed, 1)).rejects.toMatchObject({ code: '23503' });
  await expect(
    insertRow(shared.db, 'campaign', { ...columnsOf(mixed), name: 'x', cast_type: 'broadcast' }),
  ).rejects.toMatchObject({ code: '23503' });
});

test('a service with a role of its own, granted to write users, writes them, and its change is an event', async () => {
  await using own = await testDb();
  const tenant = await insertTenant(own.db);
  const [userId] = await insertUsers(own.db, tenant, 1);
  const role = `crm_${process.pid}`;
  await own.db.$client.query(
    `create role ${role}; grant ${role} to current_user; grant select, update on line_user to ${role}`,
  );
  const client = await own.db.$client.connect();
  try {
    await client.query(`set role ${role}`);
    const { rowCount } = await client.query(`update line_user set attributes = '{"tier": "gold"}' where user_id = $1`, [
      userId,
    ]);
    expect(rowCount).toBe(1);
    await client.query('reset role');
    expect(await columnOf(own.db, 'select user_id from event_outbox')).toEqual([userId]);
  } finally {
    client.release(true);
    await own.db.$client.query(`drop owned by ${role}; drop role ${role}`);
  }
});
