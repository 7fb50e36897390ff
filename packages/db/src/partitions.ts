import { sql } from 'drizzle-orm';
import type { Db } from './open.ts';

/** Tables split by UTC month, and the column that splits them. */
const PARTITIONED = [
  ['attribute_change', 'occurred_at'],
  ['event_archive', 'decided_at'],
  ['trigger_log', 'created_date'],
] as const;

/** Months made ahead of the current one: a scheduler that is down for weeks must not stop the writers. */
const MONTHS_AHEAD = 2;

/**
 * Makes the monthly partitions that are missing, from this month of product time on, and `further` months beyond those that are
 * always ahead. Returns how many it made.
 */
export async function makePartitions(db: Db, further = 0): Promise<number> {
  let made = 0;
  for (const [table, column] of PARTITIONED) {
    const { rows } = await db.execute<{ made: number }>(
      sql`select make_partitions(${table}::regclass, ${column}, ${MONTHS_AHEAD + further}::int) as made`,
    );
    made += rows[0]?.made ?? 0;
  }
  return made;
}
