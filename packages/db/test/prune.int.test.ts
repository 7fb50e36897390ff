import { makePartitions, partitionStates, prunePartitions, type Retention } from '@dueline/db';
import { columnOf, insertRow, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

const DAY = 86_400;
const KEEP_3: Retention = { trigger_log: 3, event_archive: 3, attribute_change: 3 };

let own: TestDb;
beforeEach(async () => {
  own = await testDb();
});
afterEach(() => own[Symbol.asyncDispose]());

const months = () =>
  columnOf(
    own.db,
    `select relname from pg_class where relkind = 'r' and relname ~ '^trigger_log_[0-9]{4}' order by relname`,
  );
const expectedFrom = (offset: number) =>
  columnOf(
    own.db,
    `select to_char((app_now() at time zone 'UTC') - make_interval(days => extract(day from app_now() at time zone 'UTC')::int - 1)
                    + make_interval(months => n), '"trigger_log_"YYYY_MM') from generate_series($1::int, 2) as n`,
    [offset],
  );

async function decided(): Promise<void> {
  const { organizationId: organization_id, lineOaId: line_oa_id } = await insertTenant(own.db);
  const log = { organization_id, line_oa_id, user_id: 'x', trigger_on: 'x', decision: 'fired', reason_code: 'matched' };
  await insertRow(own.db, 'trigger_log', log);
}

/** As when a year went by and a scheduler ran. */
async function aYear(): Promise<void> {
  await decided();
  await makePartitions(own.db, 13);
  await moveProductTime(own.db, 365 * DAY);
  await makePartitions(own.db);
  await decided();
}

const trigger = async (retention = KEEP_3) =>
  (await prunePartitions(own.db, retention)).find(({ table }) => table === 'trigger_log');

test('months that ended longer ago than they are kept are dropped, of each table, and the others stay', async () => {
  await aYear();
  const all = await prunePartitions(own.db, KEEP_3);
  expect(all.map(({ table, left, dropped }) => [table, left, dropped.length > 7])).toEqual([
    ['attribute_change', 'nothing', true],
    ['event_archive', 'nothing', true],
    ['trigger_log', 'nothing', true],
  ]);
  expect((await months()).slice(0, 6)).toEqual(await expectedFrom(-3));
  expect(await columnOf(own.db, 'select count(*) from trigger_log')).toEqual(['1']);
  expect(await trigger()).toEqual({ table: 'trigger_log', dropped: [], left: 'nothing' });
});

test('what is kept for ever is never dropped', async () => {
  await aYear();
  const before = await months();
  expect(await trigger({ ...KEEP_3, trigger_log: 0 })).toMatchObject({ dropped: [], left: 'nothing' });
  expect(await months()).toEqual(before);
});

test('a clock that jumped ahead drops nothing, and what was written by it is found when the clock is right again', async () => {
  await decided();
  await moveProductTime(own.db, 4_000 * DAY);
  await makePartitions(own.db);
  await decided();
  const before = await months();
  expect(await trigger()).toEqual({ table: 'trigger_log', dropped: [], left: 'gap' });
  expect(await months()).toEqual(before);
  await own.db.$client.query(`update product_time_offset set ahead = '0'`);
  expect(await trigger()).toMatchObject({ dropped: [], left: 'nothing' });
  expect(await columnOf(own.db, 'select count(*) from trigger_log')).toEqual(['2']);
});

test('who reads the history is not disturbed, and holds up nobody: the month is dropped later', async () => {
  await aYear();
  const reader = await own.db.$client.connect();
  try {
    await reader.query('begin; select count(*) from trigger_log');
    expect(await trigger()).toEqual({ table: 'trigger_log', dropped: [], left: 'waits' });
    await decided();
  } finally {
    await reader.query('rollback');
    reader.release();
  }
  expect(await trigger()).toMatchObject({ left: 'nothing', dropped: expect.arrayContaining([expect.any(String)]) });
});

test('a month that a process detached and did not drop before it died is dropped by the next', async () => {
  await aYear();
  const [oldest] = await months();
  await own.db.$client.query(
    `alter table trigger_log detach partition ${oldest}; alter table ${oldest} rename to ${oldest}_pruned`,
  );
  expect(await trigger()).toMatchObject({ left: 'nothing', dropped: expect.arrayContaining([oldest]) });
  expect((await months()).slice(0, 6)).toEqual(await expectedFrom(-3));
});

test('five pruners at once drop each month once, and a maker and writers beside them fail nobody', async () => {
  await aYear();
  const many = Array.from({ length: 5 }, () => trigger());
  await Promise.all([...many, makePartitions(own.db), decided(), decided()]);
  for (let left = 'waits'; left === 'waits'; ) left = (await trigger())?.left ?? '';
  expect((await months()).slice(0, 6)).toEqual(await expectedFrom(-3));
  expect(await columnOf(own.db, 'select count(*) from trigger_log')).toEqual(['3']);
});

test('how the months stand is told: ahead without a gap, and rows that are in none', async () => {
  const stateOf = async () => (await partitionStates(own.db)).find(({ table }) => table === 'trigger_log');
  expect(await stateOf()).toEqual({ table: 'trigger_log', monthsAhead: 2, rowsOutside: 0 });
  await moveProductTime(own.db, 400 * DAY);
  await decided();
  expect(await stateOf()).toEqual({ table: 'trigger_log', monthsAhead: -1, rowsOutside: 1 });
  await makePartitions(own.db);
  expect(await stateOf()).toEqual({ table: 'trigger_log', monthsAhead: 2, rowsOutside: 0 });
});

test('rows of a month that is long gone, or of one far ahead, get their month; what no month can bear stays where it is', async () => {
  await decided();
  for (const at of ['2001-02-03', '2044-05-06', 'infinity', '20000-01-01'])
    await own.db.$client.query(
      `insert into trigger_log (created_date, organization_id, line_oa_id, user_id, trigger_on, decision, reason_code)
       select $1, organization_id, line_oa_id, user_id, trigger_on, decision, reason_code from trigger_log limit 1`,
      [at],
    );
  expect(await makePartitions(own.db)).toBe(2);
  expect(await columnOf(own.db, 'select count(*) from trigger_log_default')).toEqual(['2']);
  expect(await columnOf(own.db, 'select count(*) from trigger_log_2001_02')).toEqual(['1']);
  expect(await columnOf(own.db, 'select count(*) from trigger_log_2044_05')).toEqual(['1']);
});
