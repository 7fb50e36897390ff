import { type Db, sql, type Tx } from '@dueline/db';

/** The channel on which claimers hear that something is due. */
export const DUE_CHANNEL = 'scheduled_action_due';

/**
 * Wakes the claimers that LISTEN, when `tx` commits: called by whoever makes a row due that was waiting (a fact, a hand, a retry, a
 * release); inserts do it by themselves. A hint only, and gated to one in 10 ms: a claimer that does not hear it finds the row
 * within a second.
 */
export async function wakeDue(tx: Tx | Db): Promise<void> {
  await tx.execute(sql`select wake_scheduled_action_due()`);
}
