import type { Tenant, TenantTicket } from '@dueline/contracts';
import { type Db, inTransaction, openDatabase } from '@dueline/db';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { finishActions, holdActions } from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { claim, each, schedule } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

/** A pool whose every transaction has a session that nobody had before, as if a pooler handed them out and cleared them. */
function withoutSessions(): Db {
  const { db, close } = openDatabase({
    ...{ url: own.url, applicationName: 'test', maxConnections: 5, onError: () => undefined },
  });
  db.$client.options.maxUses = 1;
  onTestFinished(close);
  return db;
}

async function work(db: Db): Promise<string[]> {
  const done: string[] = [];
  for (;;) {
    const tickets: TenantTicket[] = await claim(db, { via: 'queue', limit: 20 });
    if (tickets.length === 0) return done;
    await inTransaction(db, async (tx) => {
      const held = await holdActions(tx, tickets);
      const outcomes = held.map(({ id, fence }) => ({ id, fence, to: 'done' as const }));
      for (const id of (await finishActions(tx, outcomes)).keys()) done.push(id);
    });
  }
}

test('no claim lives in a session: when each transaction has another one, work is claimed, held and finished by one worker, once [SEM-077]', async () => {
  const ids = await schedule(own.db, tenant, { count: 200 });
  const db = withoutSessions();
  const session = () => columnOf(db, 'select pg_backend_pid()');
  expect(await session()).not.toEqual(await session());
  const done = (await Promise.all(Array.from({ length: 5 }, () => work(db)))).flat();
  expect(done.sort()).toEqual(ids.sort());
  expect(new Set(await each(own.db, 'status || fence'))).toEqual(new Set(['done2']));
});

test('between its transactions a worker holds no lock of its session [SEM-077]', async () => {
  await schedule(own.db, tenant, { count: 50 });
  await work(own.db);
  expect(
    await columnOf(
      own.db,
      `select count(*) from pg_locks join pg_database on pg_database.oid = database
        where datname = current_database() and locktype = 'advisory' and pid <> pg_backend_pid()`,
    ),
  ).toEqual(['0']);
});
