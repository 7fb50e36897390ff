import { sql } from 'drizzle-orm';
import { column } from './batch.ts';
import type { Tx } from './open.ts';

/**
 * Holds people until the transaction ends, so that the transaction that makes a wait of theirs and the one that tells a fact about
 * them do not pass each other unseen. Waits for whoever holds one of them; taking one again costs nothing.
 *
 * Sorted, and taken before any row is locked (the lock order), so that two transactions never deadlock.
 */
export async function lockUsers(tx: Tx, users: readonly { lineOaId: string; userId: string }[]): Promise<void> {
  if (users.length === 0) return;
  const keys = [...new Set(users.map(({ lineOaId, userId }) => `${lineOaId}:${userId}`))];
  await tx.execute(sql`
    select pg_advisory_xact_lock(key)
      from (select distinct hashtextextended(name, 0) as key from unnest(${column(keys, 'text')}) as name order by 1) as sorted`);
}
