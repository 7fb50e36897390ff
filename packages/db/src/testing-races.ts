import { sql } from 'drizzle-orm';
import { expect, vi } from 'vitest';
import type { Db } from './open.ts';

/** Whether the connection called `first` waits at the gate. */
export const IS_AT_GATE = sql`
  select exists (select from pg_stat_activity
                  where datname = current_database() and application_name = 'first' and wait_event = 'advisory') as yes`;
/** Whether the connection called `second` waits for the one called `first`. */
export const IS_BLOCKED = sql`
  select exists (select from pg_stat_activity as first, pg_stat_activity as second
                  where first.datname = current_database() and first.application_name = 'first'
                    and second.datname = current_database() and second.application_name = 'second'
                    and first.pid = any(pg_blocking_pids(second.pid))) as yes`;

export async function isTrue(db: Db, query: typeof IS_AT_GATE): Promise<boolean> {
  const { rows } = await db.execute<{ yes: boolean }>(query);
  return rows[0]?.yes === true;
}

/** Waits until so many transactions of this database wait for a lock. */
export const lockWaiters = (db: Db, count = 1): Promise<void> =>
  vi.waitFor(async () => {
    const { rows } = await db.$client.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    expect(rows[0]?.count).toBe(count);
  }, 15_000);

/** Runs work while the gate (an advisory lock) is closed, which the work opens. */
export async function withGate<T>(db: Db, gate: number, work: (open: () => Promise<void>) => Promise<T>): Promise<T> {
  const keeper = await db.$client.connect();
  const open = async () => void (await keeper.query(`select pg_advisory_unlock_all()`));
  try {
    await keeper.query(`select pg_advisory_lock(${gate})`);
    return await work(open);
  } finally {
    await open();
    keeper.release();
  }
}

/** Waits until the work has ended (false) or `isStopped` (true). */
export async function endsOr(work: Promise<unknown>, isStopped: () => Promise<boolean>): Promise<boolean> {
  let hasEnded = false;
  const ended = () => {
    hasEnded = true;
  };
  work.then(ended, ended);
  let stopped = false;
  await vi.waitFor(
    async () => {
      stopped = !hasEnded && (await isStopped());
      expect(hasEnded || stopped).toBe(true);
    },
    { interval: 2, timeout: 60_000 },
  );
  return stopped;
}
