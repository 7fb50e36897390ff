import { type Db, sql } from '@dueline/db';

/**
 * Milliseconds of product time until the cycles that are due within `withinMs` are, one number for each instant; 0: there is something to
 * plan or to open now. None of a stopped account.
 */
export async function cyclesWithin(db: Db, withinMs: number): Promise<number[]> {
  const { rows } = await db.execute<{ wait: number }>(sql`
    select distinct greatest(0, ceil(extract(epoch from next_run_at - app_now()) * 1000))::integer as wait
      from cycle_schedule as schedule
      join line_oa as account on account.id = schedule.line_oa_id and account.stopped_at is null
      join organization on organization.id = schedule.organization_id and organization.stopped_at is null
     where next_run_at <= app_now() + make_interval(secs => ${withinMs / 1_000})
    union select 0 where exists (select from cycle_schedule where is_live and planned_at is null)
                      or exists (select from superseded_calendar)
     order by wait`);
  return rows.map(({ wait }) => wait);
}
