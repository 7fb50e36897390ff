import type { Db } from '@dueline/db';
import { sleep } from '@dueline/kernel';

const POLL_MS = 20;
const PATIENCE_MS = 60_000;

/** Waits until the query has so many rows; what is not so in time shows in the verdict. */
export async function untilCount(db: Db, query: string, count: number): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(POLL_MS))
    if ((await db.$client.query(query)).rowCount === count) return;
}
