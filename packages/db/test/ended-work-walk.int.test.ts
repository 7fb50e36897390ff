import type { Tenant } from '@dueline/contracts';
import { type Db, endedWorkIsKeptFrom, makePartitions, openDatabase, prunePartitions } from '@dueline/db';
import { columnOf, insertTenant, lockWaiters, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { insertAction, insertDelivery, insertManyActions, left, OLD_DAYS, remove } from './ended-work-support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const DAY = 86_400;
const OLD = OLD_DAYS + 100;
const scheduler = () => own.as('cron-scheduler');
const countOf = async (condition: string) =>
  Number((await columnOf(own.db, `select count(*) from scheduled_action where ${condition}`))[0]);
const walkOf = (table: string) => columnOf(own.db, 'select after_id from removal_walk where table_name = $1', [table]);

/** Keeps what `statement` locks until the work is done. */
async function whileLocked<T>(statement: string, work: (letGo: () => Promise<void>) => Promise<T>): Promise<T> {
  const holder = await own.db.$client.connect();
  const letGo = async () => void (await holder.query('rollback'));
  try {
    await holder.query(`begin; ${statement}`);
    return await work(letGo);
  } finally {
    await letGo();
    holder.release();
  }
}

test('a call looks at no more rows than it may, and the next goes on where it ended', async () => {
  await insertManyActions(own.db, tenant, { count: 20_000, days: OLD });
  for (let call = 1; call <= 4; call += 1) {
    const { rows, left: leftOver } = await remove(scheduler(), { days: OLD_DAYS, mostRows: 5_000 });
    expect([rows.scheduled_action, leftOver, await countOf('true')]).toEqual([5_000, 'more', 20_000 - call * 5_000]);
  }
  expect(await remove(scheduler(), { mostRows: 5_000 })).toMatchObject({ left: 'nothing' });
});

test('one that is stopped ends with its batch, and pauses are told how long that took', async () => {
  await insertManyActions(own.db, tenant, { count: 2_000, days: OLD });
  const stopping = new AbortController();
  const took: number[] = [];
  const pause = async (ms: number) => {
    took.push(ms);
    if (took.length === 2) stopping.abort();
  };
  expect(await remove(scheduler(), { pause, signal: stopping.signal })).toMatchObject({ left: 'more' });
  expect(await countOf('true')).toBe(1_000);
  expect(took.every((ms) => ms > 0)).toBe(true);
});

test('five at once remove each row once, and no batch in vain', async () => {
  await insertManyActions(own.db, tenant, { count: 4_000, days: OLD });
  const all = await Promise.all(Array.from({ length: 5 }, () => remove(scheduler())));
  while ((await countOf('true')) > 0) all.push(await remove(scheduler()));
  expect(all.reduce((sum, { rows }) => sum + rows.scheduled_action, 0)).toBe(4_000);
});

test('one that dies within a batch has removed nothing of it, and the next removes all of it', async () => {
  const id = await insertAction(own.db, tenant, { status: 'done', made: OLD });
  const sent = await insertDelivery(own.db, tenant, { kind: 'action', logicalId: id, status: 'accepted', ended: OLD });
  await whileLocked(`select from delivery_attempt where delivery_id = ${sent} for update`, async () => {
    const dying = remove(scheduler());
    const died = expect(dying).rejects.toThrow();
    await lockWaiters(own.db);
    await own.db.$client.query(`select pg_terminate_backend(pid) from pg_stat_activity
                                  where wait_event_type = 'Lock' and datname = current_database()`);
    await died;
  });
  expect([await left(own.db, 'scheduled_action'), await left(own.db, 'delivery')]).toEqual([[id], [sent]]);
  expect((await remove(scheduler())).rows).toEqual({ scheduled_action: 1, delivery: 1, delivery_attempt: 1 });
});

test('what a person brings back at that moment is left alone, and waited for by nobody', async () => {
  const [revived, other] = [
    await insertAction(own.db, tenant, { status: 'failed', made: OLD }),
    await insertAction(own.db, tenant, { status: 'failed', made: OLD }),
  ];
  await whileLocked(`select from scheduled_action where id = ${revived} for no key update`, async () => {
    expect((await remove(scheduler())).rows.scheduled_action).toBe(1);
  });
  expect(await left(own.db, 'scheduled_action')).toEqual([revived]);
  expect(await left(own.db, 'scheduled_action')).not.toContain(other);
  expect((await remove(scheduler())).rows.scheduled_action, 'by the walk of a later instant').toBe(1);
});

test('who would bring back what is being removed finds that it is gone', async () => {
  const id = await insertAction(own.db, tenant, { status: 'failed', made: OLD });
  const sent = await insertDelivery(own.db, tenant, { kind: 'action', logicalId: id, status: 'refused', ended: OLD });
  await whileLocked(`select from delivery_attempt where delivery_id = ${sent} for update`, async (letGo) => {
    const removing = remove(scheduler());
    await lockWaiters(own.db);
    const reviving = own.db.$client.query(
      `update scheduled_action set status = 'pending', executed_at = null, fence = fence + 1, gen = gen + 1 where id = $1`,
      [id],
    );
    await lockWaiters(own.db, 2);
    await letGo();
    expect((await removing).rows.scheduled_action).toBe(1);
    expect((await reviving).rowCount).toBe(0);
  });
});

test('a delivery that is sent again at that moment keeps its action', async () => {
  const id = await insertAction(own.db, tenant, { status: 'done', made: OLD });
  const sent = await insertDelivery(own.db, tenant, { kind: 'action', logicalId: id, status: 'refused', ended: OLD });
  await whileLocked(`select from delivery where id = ${sent} for no key update`, async () => {
    expect((await remove(scheduler())).rows.scheduled_action).toBe(0);
  });
  expect(await left(own.db, 'scheduled_action')).toEqual([id]);
});

test('a walk that a wrong clock began is not gone on with', async () => {
  await insertManyActions(own.db, tenant, { count: 1_200, days: 200 });
  expect((await remove(scheduler(), { days: 100, mostRows: 500 })).rows.scheduled_action).toBe(500);
  expect((await remove(scheduler(), { days: 300 })).rows.scheduled_action).toBe(0);
  expect((await remove(scheduler(), { days: 100 })).rows.scheduled_action).toBe(700);
});

test('rows that a clock wrote that was ahead do not end the walk', async () => {
  await insertManyActions(own.db, tenant, { count: 600, days: -400 });
  await insertManyActions(own.db, tenant, { count: 600, days: OLD });
  expect((await remove(scheduler())).rows.scheduled_action).toBe(600);
});

/** Rows of scheduled_action that `work` read, whole tables and indexes together, on the one connection that it has. */
async function rowsRead(work: (db: Db) => Promise<unknown>): Promise<{ rows: number; tables: number }> {
  const one = openDatabase({
    ...{ url: own.urlOf('cron-scheduler'), applicationName: 'test', maxConnections: 1 },
    onError: () => undefined, // none is expected, and the next statement would tell
  });
  const read = async () => {
    await one.db.$client.query('select pg_stat_force_next_flush()');
    const [rows, tables] = await columnOf(
      one.db,
      `select unnest(array[(select seq_tup_read from pg_stat_user_tables where relname = 'scheduled_action')
                            + (select sum(idx_tup_read) from pg_stat_user_indexes where indexrelname like '%scheduled_action%'),
                           (select seq_scan from pg_stat_user_tables where relname = 'scheduled_action')])`,
    );
    return { rows: Number(rows), tables: Number(tables) };
  };
  try {
    const before = await read();
    await work(one.db);
    const after = await read();
    return { rows: after.rows - before.rows, tables: after.tables - before.tables };
  } finally {
    await one.close();
  }
}

test.for(['', 'vacuum analyze'])(
  'a batch reads by the primary key, and what waits for years among old rows is read once for each instant (%s)',
  { timeout: 120_000 },
  async (prepare) => {
    await insertManyActions(own.db, tenant, { count: 10_000, days: OLD, status: 'pending' });
    await insertManyActions(own.db, tenant, { count: 1_000, days: OLD });
    await insertManyActions(own.db, tenant, { count: 20_000, days: 10 });
    if (prepare !== '') await own.db.$client.query(`${prepare} scheduled_action`);
    const endedBefore = String((await columnOf(own.db, `select (app_now() - interval '300 days')::text`))[0]);
    const batch = await rowsRead((db) => remove(db, { endedBefore, mostRows: 500 }));
    expect(batch.tables).toBe(0);
    expect(batch.rows).toBeLessThan(1_500);
    const rest = await rowsRead((db) => remove(db, { endedBefore }));
    expect(rest.tables).toBe(0);
    expect(rest.rows).toBeLessThan(18_000); // those that wait, those that go, each read thrice, and one batch of the younger
    expect(await countOf('true')).toBe(30_000);
    expect(await walkOf('scheduled_action')).toEqual([null]);
    expect(await rowsRead((db) => remove(db, { endedBefore })), 'nothing again').toEqual({ rows: 0, tables: 0 });
  },
);

const monthsAgo = async (months: number) =>
  String(
    (
      await columnOf(own.db, `select (date_trunc('month', app_now(), 'UTC') - make_interval(months => $1))::text`, [
        months,
      ])
    )[0],
  );

test('work is kept for whole months, and for as long as the events that set it off', async () => {
  expect(await endedWorkIsKeptFrom(scheduler(), 0)).toBe('nothing');
  expect(await endedWorkIsKeptFrom(scheduler(), 13)).toEqual({ endedBefore: await monthsAgo(13) });
  await makePartitions(own.db, 8);
  await moveProductTime(own.db, 9 * 30 * DAY);
  await makePartitions(own.db);
  const [oldest] = await columnOf(
    own.db,
    `select min(split_part(right(relname, 7), '_', 1) || '-' || right(relname, 2) || '-01Z') from pg_class where relname ~ '^event_archive_[0-9]{4}_[0-9]{2}$'`,
  );
  const [start] = await columnOf(own.db, 'select $1::timestamptz::text', [oldest]);
  expect(await endedWorkIsKeptFrom(scheduler(), 3)).toEqual({ endedBefore: start });
  await prunePartitions(own.db, { trigger_log: 1, event_archive: 3, attribute_change: 3 });
  expect(await endedWorkIsKeptFrom(scheduler(), 3)).toEqual({ endedBefore: await monthsAgo(3) });
  expect(await endedWorkIsKeptFrom(scheduler(), 5), 'kept longer than all history').toEqual({
    endedBefore: await monthsAgo(5),
  });
});

test.for([
  ['a year', 365],
  ['eleven years', 4_000],
] as const)('a clock that jumped ahead by %s makes nothing old', async ([, days]) => {
  await moveProductTime(own.db, days * DAY);
  await makePartitions(own.db);
  expect(await endedWorkIsKeptFrom(scheduler(), 2)).toBe('gap');
  await prunePartitions(own.db, { trigger_log: 2, event_archive: 2, attribute_change: 2 });
  expect(await endedWorkIsKeptFrom(scheduler(), 2), 'when the months were looked at').toBe('gap');
  expect(await endedWorkIsKeptFrom(scheduler(), 24)).toBe('gap');
  await own.db.$client.query(`update product_time_offset set ahead = '0'`);
  expect(await endedWorkIsKeptFrom(scheduler(), 2)).toEqual({ endedBefore: await monthsAgo(2) });
});
