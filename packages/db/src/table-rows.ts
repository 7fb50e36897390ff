import { sql } from 'drizzle-orm';
import type { Db } from './open.ts';

/** What PostgreSQL counts of a table, not exactly. */
export interface TableRows {
  readonly table: string;
  readonly live: number;
  /** Not vacuumed yet: whoever looks for a row steps over them. */
  readonly dead: number;
}

/** How many rows these tables have, live and dead, as PostgreSQL's statistics have it. */
export async function countTableRows(db: Db, tables: readonly string[]): Promise<TableRows[]> {
  const { rows } = await db.execute<{ table: string; live: number; dead: number }>(sql`
    select relname as table, n_live_tup::float8 as live, n_dead_tup::float8 as dead
      from pg_stat_user_tables where relname = any(array(select json_array_elements_text(${JSON.stringify(tables)}::json)))`);
  return rows;
}
