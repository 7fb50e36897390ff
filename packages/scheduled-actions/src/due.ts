import { type Db, sql } from '@dueline/db';

/** Instants per look-ahead: beyond them the claim loop, which runs until nothing is due, keeps up anyway. */
const MAX_INSTANTS = 1_000;

/**
 * Milliseconds, by the database's product time, until each row that is due within `withinMs` comes due; overdue rows count
 * as 0, all together, so that a backlog costs one probe. One number per millisecond. Never claims anything.
 */
export async function dueWithin(db: Db, withinMs: number): Promise<number[]> {
  const { rows } = await db.execute<{ wait_ms: string }>(sql`
    select 0 as wait_ms where exists (select from scheduled_action where status = 'pending' and execute_at <= app_now())
    union all
    (select distinct ceil(extract(epoch from execute_at - app_now()) * 1000)
       from scheduled_action
      where status = 'pending' and execute_at > app_now()
        and execute_at <= app_now() + make_interval(secs => ${withinMs / 1_000})
      order by 1
      limit ${MAX_INSTANTS})
    order by wait_ms`);
  return rows.map((row) => Number(row.wait_ms));
}
