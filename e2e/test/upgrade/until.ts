import type { Db } from '@dueline/db';
import { sleep } from '@dueline/kernel';

const POLL_MS = 50;
/** Several leases, on a machine that has much else to do; it bounds a failure only. */
const PATIENCE_MS = 90_000;

/** Waits until it is so. @throws Error that names it when it is not in time. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; !(await isSo()); await sleep(POLL_MS))
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
}

/** Waits until the query has at least so many rows. */
export const untilRows = (db: Db, query: string, count = 1): Promise<void> =>
  until(`${count} rows: ${query}`, async () => ((await db.$client.query(query)).rowCount ?? 0) >= count);
