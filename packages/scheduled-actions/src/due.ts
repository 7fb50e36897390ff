import type { Db } from '@dueline/db';
import type { DueAccounts } from './due-accounts.ts';
import { isOverdue, lookAhead } from './look.ts';
import { waitGraceSeconds } from './state.ts';

/**
 * Milliseconds, by the database's product time, until each row that is due within `withinMs` comes due; overdue rows count
 * as 0, all together, so that a backlog costs one probe. One number per millisecond. Never claims anything.
 *
 * A wait that is over is due when its grace is. Rows of stopped accounts are never overdue.
 *
 * @param options.accounts The claimer's list, to which the look adds what it meets.
 * @param options.graceSeconds As in the claim.
 */
export async function dueWithin(
  db: Db,
  withinMs: number,
  { accounts: list, graceSeconds = waitGraceSeconds }: { accounts?: DueAccounts; graceSeconds?: number } = {},
): Promise<number[]> {
  const soon = await lookAhead(db, { withinMs, graceSeconds, list });
  return (await isOverdue(db, { graceSeconds, list })) ? [0, ...soon.filter((wait) => wait > 0)] : soon;
}
