import type { Tenant } from '@dueline/contracts';
import { type Db, inTenant, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';

/** Most entries of a page. */
const MAX_PAGE = 500;

/** @throws PermanentError when `limit` is no whole number from 1 to 500. */
export function sizeOf(limit: number): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE)
    throw new PermanentError(`limit: a whole number from 1 to ${MAX_PAGE}`);
  return limit;
}

/** Where a page begins: behind the row of this instant and these keys. */
export interface Position {
  readonly at: string;
  readonly keys: readonly string[];
}

/** Text that names the page behind a row. */
export const positionAfter = ({ at, keys }: Position): string => [at, ...keys].join('/');

/** @throws PermanentError when no page gave this text. */
export function parsePosition(after: string, keys: readonly RegExp[]): Position {
  const [at = '', ...given] = after.split('/');
  const fits = given.length === keys.length && keys.every((pattern, n) => pattern.test(given[n] ?? ''));
  if (!fits || Number.isNaN(Date.parse(at)))
    throw new PermanentError('after: no page gave such a place; take `next` of the page before');
  return { at, keys: given };
}

/**
 * Runs a read of a page, of one account, by one plan for everybody: walk the index of each month in its order and stop. Left to itself PostgreSQL plans anew for each
 * person, which over many months takes longer than the read, or takes somebody for average, reads all that there is of them and sorts it.
 */
export const readInOrder = <T>(db: Db, tenant: Tenant, read: (tx: Tx) => Promise<T>): Promise<T> =>
  inTenant(db, tenant, async (tx) => {
    await tx.execute(sql`
      select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_sort', 'off', true),
             set_config('enable_bitmapscan', 'off', true), set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)`);
    return read(tx);
  });
