import { makePartitions } from '@dueline/db';
import { columnOf, insertTenant, insertUsers, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

const TABLES = ['attribute_change', 'event_archive', 'trigger_log'];
const DAY = 86_400;

let own: TestDb;
beforeEach(async () => {
  own = await testDb();
});
afterEach(() => own[Symbol.asyncDispose]());

const partitions = () =>
  columnOf(
    own.db,
    'select inhrelid::regclass::text from pg_inherits join pg_class on oid = inhrelid where relispartition and relkind = $1 and relname !~ $2 order by 1',
    ['r', '_default$'],
  );

const expectedNames = async () => {
  const months = await columnOf(
    own.db,
    `select to_char(date_trunc('month', app_now(), 'UTC') + make_interval(months => n), '_YYYY_MM') from generate_series(0, 2) as n`,
  );
  return TABLES.flatMap((table) => months.map((month) => table + month));
};

test('a migrated database has the current month and the two after it', async () => {
  expect(await partitions()).toEqual(await expectedNames());
  expect(await makePartitions(own.db)).toBe(0);
});

test('ten makers at once make each partition once', async () => {
  await moveProductTime(own.db, 95 * DAY);
  const made = await Promise.all(Array.from({ length: 10 }, () => makePartitions(own.db)));
  expect(made.reduce((sum, count) => sum + count, 0)).toBe((await partitions()).length - 9);
  expect(await partitions()).toEqual(expect.arrayContaining(await expectedNames()));
});

test.for([1, 31, 62, 200, 365, 3_653])('after product time moved by %i days writers find their month', async (days) => {
  await moveProductTime(own.db, days * DAY);
  await makePartitions(own.db);
  const tenant = await insertTenant(own.db);
  await insertUsers(own.db, tenant, 1);
  await own.db.$client.query(`update line_user set attributes = '{"a": 1}'`);
  expect(
    await columnOf(own.db, 'select count(*) from attribute_change where occurred_at > app_now() - interval $$1 min$$'),
  ).toEqual(['1']);
});

test('months meet without gap or overlap over the end of a year, whatever the time zone of the session', async () => {
  const client = await own.db.$client.connect();
  try {
    await client.query(`set timezone = 'Pacific/Auckland'`);
    await client.query(`select make_partitions('trigger_log', 'created_date', 14)`);
  } finally {
    client.release(true);
  }
  const bounds = await columnOf(
    own.db,
    `select pg_get_expr(relpartbound, oid) from pg_class where relname like 'trigger_log\\_20%' and relkind = 'r' order by relname`,
  );
  expect(bounds).toHaveLength(15);
  const edges = bounds.map((bound) => [...String(bound).matchAll(/'([^']+)'/g)].map(([, edge]) => edge));
  for (const [at, [from]] of edges.entries()) {
    expect(from).toMatch(/-01 00:00:00\+00$/);
    if (at > 0) expect(from).toBe(edges[at - 1]?.[1]);
  }
});

test('a writer whose month nobody made does not fail, and its rows move into their month when it is made', async () => {
  const tenant = await insertTenant(own.db);
  await moveProductTime(own.db, 400 * DAY);
  await insertUsers(own.db, tenant, 3);
  await own.db.$client.query(`update line_user set attributes = '{"a": 1}'`);
  expect(await columnOf(own.db, 'select count(*) from attribute_change_default')).toEqual(['3']);

  expect(await makePartitions(own.db)).toBe(9);

  expect(await columnOf(own.db, 'select count(*) from attribute_change_default')).toEqual(['0']);
  expect(await columnOf(own.db, 'select count(*) from attribute_change')).toEqual(['3']);
});

test('what ANALYZE leaves out of a table it leaves out of its months', async () => {
  await makePartitions(own.db, 14);
  const unread = `select count(*) || ' ' || array_agg(attname order by attname)::text as columns from pg_attribute
                   where attrelid::regclass::text ~ '^trigger_log_20' and attnum > 0 and attstattarget = 0 group by attrelid`;
  expect(new Set(await columnOf(own.db, unread))).toEqual(new Set(['3 {action_config,detail,error_message}']));
});
