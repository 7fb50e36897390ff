import { type Db, openDatabase } from '@dueline/db';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { createDueAccounts, dueWithin } from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim, insertCrowd } from './support.ts';

let own: TestDb;
/** The claimer's, on one connection that hands its statistics over when it is asked to. */
let mine: ReturnType<typeof openDatabase>;
beforeEach(async () => {
  own = await testDb();
  mine = openDatabase({ url: own.url, applicationName: 'test', maxConnections: 1, onError: () => undefined });
});
afterEach(async () => {
  await mine.close();
  await own[Symbol.asyncDispose]();
});

const query = (text: string) => own.db.$client.query(text);

const LIMIT = 500;
const CLAIMED_MEANWHILE = 50_000;

/** Entries of an index that `work` reads, dead ones included: what a held snapshot costs, whatever else the machine does. */
async function entriesRead(index: string, work: (db: Db) => Promise<unknown>): Promise<number> {
  const readSoFar = async () => {
    await mine.db.$client.query('select pg_stat_force_next_flush()');
    const sum = `select sum(idx_tup_read) from pg_stat_user_indexes where indexrelname = '${index}'`;
    return Number((await columnOf(mine.db, sum))[0]);
  };
  const before = await readSoFar();
  await work(mine.db);
  return (await readSoFar()) - before;
}

/** Leaves behind in the indexes what claims leave that drain the backlog, oldest first; deleted, because that is quicker than to claim. */
async function churn(): Promise<void> {
  const worker = await own.db.$client.connect();
  try {
    await worker.query('begin; set local session_replication_role = replica');
    await worker.query(`
      delete from scheduled_action
       where id in (select id from scheduled_action where status = 'pending' order by execute_at, id limit ${CLAIMED_MEANWHILE})`);
    await worker.query('commit');
  } finally {
    worker.release();
  }
}

async function whileHeld(work: () => Promise<void>): Promise<void> {
  const holder = await own.db.$client.connect();
  const keepAwake = setInterval(() => void holder.query('select 1'), 3_000);
  try {
    await holder.query('begin isolation level repeatable read; select count(*) from organization');
    await work();
  } finally {
    clearInterval(keepAwake);
    await holder.query('rollback');
    holder.release();
  }
}

// What was claimed cannot be removed from the index while an old snapshot may still see it; a claim that reads past all of it takes
// several times as long.
test.for([
  ['within a day', 86_400, 20 * LIMIT],
  ['within ten minutes', 600, 20 * LIMIT],
  // rows of one instant are one place for the look, which reads no row that is left further than once
  ['at one instant', 0, 2 * CLAIMED_MEANWHILE],
] as const)(
  'claims and looks hardly read what was claimed while somebody holds a snapshot, though all of it was due %s [SEM-107, SEM-108]',
  {
    timeout: 120_000,
  },
  async ([, overSeconds, mostLooked]) => {
    await query('alter table scheduled_action set (autovacuum_enabled = off)');
    await insertCrowd(own.url, await insertTenant(own.db), {
      ...{ count: CLAIMED_MEANWHILE + 20_000, fromSeconds: -overSeconds - 60, overSeconds },
    });
    await query('analyze scheduled_action');
    const accounts = createDueAccounts();
    const options = { limit: LIMIT, accounts, via: 'inline', maxProcessing: Number.MAX_SAFE_INTEGER } as const;
    const claimed = async (db: Db) => expect(await claim(db, options)).toHaveLength(LIMIT);
    await claimed(mine.db);
    await whileHeld(async () => {
      await churn();
      const reads: number[] = [];
      for (let n = 0; n < 15; n += 1) reads.push(await entriesRead('idx_scheduled_action_pending', claimed));
      expect(reads[0]).toBeGreaterThan(CLAIMED_MEANWHILE); // it does read past all of it, once
      expect(reads.toSorted((left, right) => left - right)[7], `${reads}`).toBeLessThan(2 * LIMIT);

      const looked = async (db: Db) => expect(await dueWithin(db, 2_000, { accounts })).toEqual([0]);
      await looked(mine.db);
      expect(await entriesRead('idx_scheduled_action_due', looked)).toBeLessThan(mostLooked);
    });
  },
);
