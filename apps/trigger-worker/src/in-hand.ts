import { type InHandKind, inTransaction, letGoOfHand, type Tx, takeInHand } from '@dueline/db';
import type { DecideDeps } from './deps.ts';

/** Says which rows are about to be decided; answers which of them another process has in hand, and whether alone. */
export type Take = (ids: readonly string[]) => Promise<ReadonlyMap<string, boolean>>;

/**
 * One transaction whose rows are named beside it, so that the death of this process shows which they were. At most one at a time
 * under one name, which the callers see to.
 */
export async function decideInHand<T>(
  { db, log, claimedBy, leaseSeconds }: DecideDeps,
  kind: InHandKind,
  work: (tx: Tx, take: Take) => Promise<T>,
): Promise<T> {
  let taken = false;
  const take: Take = async (ids) => {
    if (ids.length === 0) return new Map();
    taken = true;
    return takeInHand(db, { claimedBy, kind, ids, leaseSeconds });
  };
  try {
    return await inTransaction(db, async (tx) => {
      const result = await work(tx, take);
      if (taken) await letGoOfHand(tx, claimedBy);
      return result;
    });
  } catch (error) {
    if (taken)
      await letGoOfHand(db, claimedBy).catch((err) => log.warn({ err }, 'what is in hand could not be let go of'));
    throw error;
  }
}
