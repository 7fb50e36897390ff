import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, openDatabase } from '@dueline/db';
import { announceEvents, takeEvents } from '@dueline/db/changes';
import { columnOf, insertTenant, insertUsers, testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';

const EVENTS = 3_000;
const OF_ONE_STEP = 10;
const limits = { limit: OF_ONE_STEP, leaseSeconds: 60, maxPublished: 100_000, published: 0 };

async function announceAndTake(db: Db): Promise<number> {
  const tickets = await announceEvents(db, limits);
  return (await inTransaction(db, (tx) => takeEvents(tx, tickets))).length;
}

/**
 * Rows of the outbox that were read, whole tables and indexes together; told by the one connection that reads them. Not by the index of what is
 * pending: it holds what no longer is until nobody can see it any more, which others decide.
 */
async function rowsRead(db: Db): Promise<number> {
  await db.$client.query('select pg_stat_force_next_flush()');
  const [read] = await columnOf(
    db,
    `select (select seq_tup_read from pg_stat_user_tables where relname = 'event_outbox')
          + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'event_outbox' and indexrelname <> 'idx_event_outbox_pending')`,
  );
  return Number(read);
}

async function changeAll(db: Db, { lineOaId }: Tenant, userCount: number): Promise<void> {
  await db.$client.query(
    `update line_user set attributes = attributes || '{"n": 1}'
      where line_oa_id = $1 and user_id in (select user_id from line_user where line_oa_id = $1 order by user_id limit $2)`,
    [lineOaId, userCount],
  );
}

test('whoever began on an empty outbox reads as many events as it takes, however many wait and are announced', async () => {
  await using own = await testDb();
  const tenant = await insertTenant(own.db);
  await insertUsers(own.db, tenant, EVENTS);
  await own.db.$client.query('vacuum analyze event_outbox');
  const worker = openDatabase({
    ...{ url: own.url, applicationName: 'test', maxConnections: 1, readsByIndex: true },
    onError: () => undefined, // none is expected, and the next statement would tell
  });
  try {
    await changeAll(own.db, tenant, 1);
    for (let times = 0; times < 8; times += 1) await announceAndTake(worker.db); // a plan is kept from the sixth time on
    await own.db.$client.query(`update line_user set attributes = '{}'`);
    await changeAll(own.db, tenant, EVENTS);
    await announceEvents(own.db, { ...limits, limit: EVENTS - 5 * OF_ONE_STEP });

    const before = await rowsRead(worker.db);
    for (let times = 0; times < 4; times += 1) expect(await announceAndTake(worker.db)).toBe(OF_ONE_STEP);
    expect((await rowsRead(worker.db)) - before).toBeLessThan(EVENTS / 4);
  } finally {
    await worker.close();
  }
});

test.for([
  { opened: {}, waitsForDisk: 'on' },
  { opened: { readsByIndex: true }, waitsForDisk: 'on' },
  { opened: { readsByIndex: true, commitsUnsaved: true }, waitsForDisk: 'off' },
])('opened with $opened, a commit waits for the disk: $waitsForDisk', async ({ opened, waitsForDisk }) => {
  await using own = await testDb();
  await own.db.$client.query(
    `do $$ begin execute format('alter database %I set synchronous_commit = on', current_database()); end $$`,
  );
  const database = openDatabase({
    ...{ url: own.url, applicationName: 'test', maxConnections: 1, ...opened },
    onError: () => undefined, // none is expected, and the statement would tell
  });
  try {
    expect(await columnOf(database.db, 'show synchronous_commit')).toEqual([waitsForDisk]);
  } finally {
    await database.close();
  }
});
