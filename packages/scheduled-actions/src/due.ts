import type { Db } from '@dueline/db';
import type { DueAccounts } from './due-accounts.ts';
import { look } from './look.ts';

/**
 * Milliseconds, by the database's product time, until each row that is due within `withinMs` comes due; overdue rows count
 * as 0, all together, so that a backlog costs one probe. One number per millisecond. Never claims anything.
 *
 * A wait that is over is due when its grace is. Rows of stopped accounts are never overdue.
 *
 * @param options.accounts The claimer's list, to which the look adds what it meets.
 * @param options.graceSeconds As in the claim.
 */
export function dueWithin(
  db: Db,
  withinMs: number,
  options: { accounts?: DueAccounts; graceSeconds?: number } = {},
): Promise<number[]> {
  return look(db, {
    withinMs,
    graceSeconds: options.graceSeconds,
    ...(options.accounts && { list: options.accounts }),
  });
}
