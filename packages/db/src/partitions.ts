import { sql } from 'drizzle-orm';
import type { Db, Tx } from './open.ts';

/** Tables split by UTC month of product time. */
export const PARTITIONED_TABLES = ['attribute_change', 'event_archive', 'trigger_log'] as const;

/** A table that is split by months of product time. */
export type PartitionedTable = (typeof PARTITIONED_TABLES)[number];

/** Months made ahead of the current one: a scheduler that is down for weeks must not stop the writers. */
const MONTHS_AHEAD = 2;

/**
 * Makes the monthly partitions that are missing, from this month of product time on, and `further` months beyond those that are
 * always ahead; and the months of rows that have none, so that they move there. Returns how many it made.
 *
 * @throws TransientError when somebody reads the rows without a month for longer than two seconds: try again.
 */
export async function makePartitions(db: Db, further = 0): Promise<number> {
  let made = 0;
  for (const table of PARTITIONED_TABLES) {
    const { rows } = await db.execute<{ made: number }>(
      sql`select make_history_months(${table}, ${MONTHS_AHEAD + further}::int) as made`,
    );
    made += rows[0]?.made ?? 0;
  }
  return made;
}

/** How the months of a table stand. */
export interface PartitionState {
  readonly table: PartitionedTable;
  /** Months behind the current one that are there without a gap; -1: the current one is missing. */
  readonly monthsAhead: number;
  /** Rows that no month took, 10,000 at most. They are read like others, and move into their month when it is made. */
  readonly rowsOutside: number;
}

/** Rows without a month are counted up to so many. */
const MOST_COUNTED = 10_000;

/** How the months of each table stand. Reads the catalog, and the rows that have no month. */
export async function partitionStates(db: Db): Promise<PartitionState[]> {
  const states: PartitionState[] = [];
  for (const table of PARTITIONED_TABLES) {
    const months = await monthsOf(db, table);
    let next = 0;
    while (months.has(next)) next += 1;
    const { rows } = await db.execute<{ count: number }>(sql`
      select count(*)::int as count
        from (select from ${sql.identifier(`${table}_default`)} limit ${MOST_COUNTED}) as outside`);
    states.push({ table, monthsAhead: next - 1, rowsOutside: rows[0]?.count ?? 0 });
  }
  return states;
}

/** The months of a table that are attached, counted from the current one of product time; before it: negative. */
export async function monthsOf(db: Db | Tx, table: PartitionedTable): Promise<ReadonlySet<number>> {
  const { rows } = await db.execute<{ offset: number }>(sql`
    select split_part(right(child.relname, 7), '_', 1)::int * 12 + right(child.relname, 2)::int
             - (extract(year from app_now() at time zone 'UTC') * 12 + extract(month from app_now() at time zone 'UTC'))::int as offset
      from pg_inherits join pg_class as child on child.oid = inhrelid
     where inhparent = ${table}::regclass and child.relname ~ ('^' || ${table} || '_[0-9]{4}_[0-9]{2}$')`);
  return new Set(rows.map(({ offset }) => offset));
}
