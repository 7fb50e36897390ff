import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { eventsOf, setAttributes as set } from './outbox-support.ts';

let shared: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  shared = await testDb();
});
beforeEach(async () => {
  tenant = await insertTenant(shared.db);
});
afterEach(async () => {
  await shared.db.$client.query('truncate event_outbox, attribute_change');
});
afterAll(() => shared[Symbol.asyncDispose]());

const query = (text: string, values: unknown[] = []) => shared.db.$client.query(text, values);

const events = () => eventsOf(shared.db, tenant);
const setAttributes = (attributes: unknown, user?: number) => set(shared.db, tenant, attributes, user);

const insertUser = `insert into line_user (organization_id, line_oa_id, user_id, attributes)`;

interface Statement {
  name: string;
  users?: number;
  sql: string;
  /** `user: changed` of each event. */
  expected: [number, unknown][];
}

/** $1 stands for the organization, $2 for the account. */
const STATEMENTS: Statement[] = [
  {
    name: 'UPDATE of one user',
    users: 2,
    sql: `update line_user set attributes = '{"a": 1}' where line_oa_id = $2 and user_id like '%1'`,
    expected: [[1, { a: { to: 1 } }]],
  },
  {
    name: 'UPDATE of many users',
    users: 3,
    sql: `update line_user set attributes = '{"a": 1}' where line_oa_id = $2`,
    expected: [1, 2, 3].map((user) => [user, { a: { to: 1 } }]),
  },
  {
    name: 'UPDATE of none',
    users: 2,
    sql: `update line_user set attributes = '{"a": 1}' where line_oa_id = $2 and false`,
    expected: [],
  },
  {
    name: 'UPDATE to the same attributes',
    users: 2,
    sql: `update line_user set attributes = attributes where line_oa_id = $2`,
    expected: [],
  },
  {
    name: 'UPDATE of another column',
    users: 2,
    sql: `update line_user set display_name = 'x' where line_oa_id = $2`,
    expected: [],
  },
  { name: 'INSERT without attributes', sql: `${insertUser} values ($1, $2, '${lineUserId(1)}', '{}')`, expected: [] },
  {
    name: 'INSERT of many with attributes',
    sql: `${insertUser} values ($1, $2, '${lineUserId(1)}', '{"a": 1, "b": null}'), ($1, $2, '${lineUserId(2)}', '{}'), ($1, $2, '${lineUserId(3)}', '{"a": 3}')`,
    expected: [
      [1, { a: { to: 1 }, b: { to: null } }],
      [3, { a: { to: 3 } }],
    ],
  },
  {
    name: 'UPSERT of a new and a known user',
    users: 1,
    sql: `${insertUser} values ($1, $2, '${lineUserId(1)}', '{"a": 1}'), ($1, $2, '${lineUserId(2)}', '{"a": 2}')
          on conflict (line_oa_id, user_id) do update set attributes = excluded.attributes`,
    expected: [
      [1, { a: { to: 1 } }],
      [2, { a: { to: 2 } }],
    ],
  },
  {
    name: 'MERGE that updates and inserts',
    users: 1,
    sql: `merge into line_user as old using (values ('${lineUserId(1)}'), ('${lineUserId(2)}')) as new (user_id)
            on old.line_oa_id = $2 and old.user_id = new.user_id
          when matched then update set attributes = '{"a": 1}'
          when not matched then insert (organization_id, line_oa_id, user_id, attributes) values ($1, $2, new.user_id, '{"a": 2}')`,
    expected: [
      [1, { a: { to: 1 } }],
      [2, { a: { to: 2 } }],
    ],
  },
  { name: 'DELETE', users: 1, sql: `delete from line_user where line_oa_id = $2`, expected: [] },
];

test.for(STATEMENTS)('$name makes one event per changed user', async ({ users = 0, sql, expected }) => {
  await insertUsers(shared.db, tenant, users);
  await query(sql.replaceAll('$1', tenant.organizationId).replaceAll('$2', tenant.lineOaId));
  const found = await events();
  const sorted = found.map(({ user_id, changed }) => [user_id, changed]).sort();
  expect(sorted).toEqual(expected.map(([user, changed]) => [lineUserId(user), changed]));
  expect(found.every(({ bulk }) => !bulk)).toBe(true);
  expect(
    await columnOf(shared.db, 'select count(*) from attribute_change where line_oa_id = $1', [tenant.lineOaId]),
  ).toEqual([String(expected.length)]);
});

test('COPY makes events like INSERT', async () => {
  const client = new pg.Client({ connectionString: shared.url });
  await client.connect();
  try {
    await client.query(`create temp table lines (line text)`);
    await client.query(`copy lines from program 'printf "one\\n"'`);
    const line = `${tenant.organizationId}\\t${tenant.lineOaId}\\t${lineUserId(1)}\\t{\\"a\\": 1}`;
    await client.query(
      `copy line_user (organization_id, line_oa_id, user_id, attributes) from program 'printf "${line}\\n"'`,
    );
  } finally {
    await client.end();
  }
  expect((await events()).map(({ changed }) => changed)).toEqual([{ a: { to: 1 } }]);
});

test.for(['user_id', 'line_oa_id', 'organization_id'])(
  'a changed %s is refused, because it would slip through the feed',
  async (column) => {
    await insertUsers(shared.db, tenant, 1);
    const value = column === 'user_id' ? `'${lineUserId(99)}'` : `${column} + 1`;
    await expect(
      query(`update line_user set ${column} = ${value} where line_oa_id = $1`, [tenant.lineOaId]),
    ).rejects.toMatchObject({
      code: 'DL004',
    });
  },
);

test.for([
  [1_000, false],
  [1_001, true],
  [2_000, true],
] as const)('a statement over %i users is bulk: %s', async ([users, bulk]) => {
  await insertUsers(shared.db, tenant, users);
  await query(`update line_user set attributes = '{"a": 1}' where line_oa_id = $1`, [tenant.lineOaId]);
  const found = await events();
  expect(found).toHaveLength(users);
  expect(new Set(found.map((event) => event.bulk))).toEqual(new Set([bulk]));
});

test('a change that is rolled back, whole or to a savepoint, leaves no event', async () => {
  await insertUsers(shared.db, tenant, 1);
  const client = await shared.db.$client.connect();
  const set = (value: number) =>
    client.query('update line_user set attributes = $2 where line_oa_id = $1', [tenant.lineOaId, { a: value }]);
  await client.query('begin');
  await set(1);
  await client.query('rollback');
  await client.query('begin');
  await set(2);
  await client.query('savepoint before');
  await set(3);
  await client.query('rollback to savepoint before');
  await client.query('commit');
  client.release();
  expect((await events()).map(({ changed }) => changed)).toEqual([{ a: { to: 2 } }]);
});

test('two statements of one transaction are two events, in order', async () => {
  await insertUsers(shared.db, tenant, 1);
  await query(
    `do $$ begin
       update line_user set attributes = '{"a": 1}' where line_oa_id = ${tenant.lineOaId};
       update line_user set attributes = '{"a": 2}' where line_oa_id = ${tenant.lineOaId};
     end $$`,
  );
  expect((await events()).map(({ changed }) => changed)).toEqual([{ a: { to: 1 } }, { a: { from: 1, to: 2 } }]);
});

test('attributes_version counts changes of attributes only', async () => {
  await insertUsers(shared.db, tenant, 1);
  await setAttributes({ a: 1 });
  await setAttributes({ a: 1 });
  await query(`update line_user set display_name = 'x' where line_oa_id = $1`, [tenant.lineOaId]);
  await setAttributes({ a: 2 });
  expect(
    await columnOf(shared.db, 'select attributes_version from line_user where line_oa_id = $1', [tenant.lineOaId]),
  ).toEqual(['3']);
});
