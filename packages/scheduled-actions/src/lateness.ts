import { type Db, sql } from '@dueline/db';
import { IS_WORKING } from './look.ts';
import { waitGraceSeconds } from './state.ts';

/**
 * For how many seconds the oldest row that a claim would take has been due, by product time; 0 when there is none. Rows of stopped and
 * paused accounts wait rightly and do not count; a wait is due when its grace is over.
 *
 * Reads one row for each working account and lane.
 */
export async function oldestDueSeconds(
  db: Db,
  { graceSeconds = waitGraceSeconds }: { graceSeconds?: number } = {},
): Promise<number> {
  const grace = sql`make_interval(secs => ${graceSeconds})`;
  const isWaiting = sql`expires_at is not null and branch is null`;
  const { rows } = await db.execute<{ seconds: string }>(sql`
    select coalesce(max(extract(epoch from app_now() - oldest.due_at)), 0) as seconds
      from line_oa
      join organization on organization.id = line_oa.organization_id and ${IS_WORKING}
     cross join (values (0::smallint), (1::smallint), (2::smallint)) as lanes (lane)
     cross join lateral (
       select case when ${isWaiting} then execute_at + ${grace} else execute_at end as due_at
         from scheduled_action
        where status = 'pending' and lane = lanes.lane and line_oa_id = line_oa.id and execute_at <= app_now()
          and (not (${isWaiting}) or execute_at <= app_now() - ${grace})
        order by execute_at, id
        limit 1) as oldest`);
  return Number(rows[0]?.seconds ?? 0);
}
