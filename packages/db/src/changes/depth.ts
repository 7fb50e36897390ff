import { sql } from 'drizzle-orm';
import { column } from '../batch.ts';
import type { Tx } from '../open.ts';

/** How many events stand between each of these decided events and its root, by event id; what the archive has no more is left out. */
export async function depthsOf(tx: Tx, eventIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await tx.execute<{ event_id: string; depth: number }>(sql`
    select event_id, depth from event_archive where event_id = any(${column([...new Set(eventIds)], 'uuid')})`);
  return new Map(rows.map(({ event_id, depth }) => [event_id, depth]));
}
