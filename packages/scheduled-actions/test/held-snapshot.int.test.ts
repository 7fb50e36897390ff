import { insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { createDueAccounts } from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim, insertCrowd } from './support.ts';

let own: TestDb;
beforeEach(async () => {
  own = await testDb();
});
afterEach(() => own[Symbol.asyncDispose]());

const query = (text: string) => own.db.$client.query(text);

const LIMIT = 500;
const CLAIMED_MEANWHILE = 100_000;
const BACKLOG_SECONDS = 86_400;

/** Milliseconds that a claim takes when nothing else is in its way: of twenty the second fastest. */
async function quickClaim(): Promise<number> {
  const accounts = createDueAccounts();
  const times: number[] = [];
  for (let n = 0; n < 20; n += 1) {
    const startedAt = performance.now();
    const options = { limit: LIMIT, accounts, via: 'inline', maxProcessing: Number.MAX_SAFE_INTEGER } as const;
    expect(await claim(own.db, options)).toHaveLength(LIMIT);
    times.push(performance.now() - startedAt);
  }
  return times.sort((left, right) => left - right)[1] ?? Number.NaN;
}

/** Leaves behind in the index what claims leave that drain the backlog, oldest first; deleted, because that is quicker than to claim. */
async function churn(): Promise<void> {
  const worker = await own.db.$client.connect();
  try {
    await worker.query('begin; set local session_replication_role = replica');
    await worker.query(`
      delete from scheduled_action
       where execute_at < (select execute_at from scheduled_action where status = 'pending'
                            order by execute_at offset ${CLAIMED_MEANWHILE} limit 1)`);
    await worker.query('commit');
  } finally {
    worker.release();
  }
}

// What was claimed cannot be removed from the index while an old snapshot may still see it; a claim that reads past all of it takes
// several times as long.
test('a claim takes hardly longer for what was claimed while somebody holds a snapshot [SEM-107, SEM-108]', {
  timeout: 120_000,
}, async () => {
  await query('alter table scheduled_action set (autovacuum_enabled = off)');
  await insertCrowd(own.url, await insertTenant(own.db), {
    ...{ count: CLAIMED_MEANWHILE + 40_000, fromSeconds: -BACKLOG_SECONDS, overSeconds: BACKLOG_SECONDS },
  });
  await query('analyze scheduled_action');
  await quickClaim();
  const before = await quickClaim();

  const holder = await own.db.$client.connect();
  const keepAwake = setInterval(() => void holder.query('select 1'), 3_000);
  try {
    await holder.query('begin isolation level repeatable read; select count(*) from organization');
    await churn();
    const during = await quickClaim();
    expect(during, `it took ${before} ms before`).toBeLessThan(before * 2.5);
  } finally {
    clearInterval(keepAwake);
    await holder.query('rollback');
    holder.release();
  }
});
