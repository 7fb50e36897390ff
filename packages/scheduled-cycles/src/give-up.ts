import { type Db, sql, type Tx } from '@dueline/db';
import type { Cycle } from './page.ts';

/** Failures in a row until the person whom they are about is given up, and what is waited after each, in seconds of process time. */
const TRIES = 5;
const RETRY_SECONDS = 60;
/** People in a row who are given up, until the cycle is. */
const MOST_GIVEN_UP = 5;

/** Keeps a cycle that is being read by its fence. False: it is lost. */
export async function keepCycle(
  db: Db,
  { id, fence }: Pick<Cycle, 'id' | 'fence'>,
  { leaseSeconds }: { leaseSeconds: number },
): Promise<boolean> {
  const { rowCount } = await db.execute(sql`
    update scheduled_trigger_execution set lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
     where id = ${id} and fence = ${fence} and status = 'processing'`);
  return rowCount === 1;
}

/**
 * Counts that not even the next person of a cycle could be given what the rule does, and says what is to become of it: `later`, the cycle is let go and
 * announced again in a minute; `person`, they are to be given up; `cycle`, all that is left of it is; `lost`, it is somebody else's.
 */
export async function countPageFailure(
  db: Db,
  { id, fence }: Pick<Cycle, 'id' | 'fence'>,
  { leaseSeconds }: { leaseSeconds: number },
): Promise<'later' | 'person' | 'cycle' | 'lost'> {
  const { rows } = await db.execute<{ failures: number }>(sql`
    update scheduled_trigger_execution
       set page_failures = page_failures + 1,
           fence = fence + case when page_failures + 1 < ${TRIES} then 1 else 0 end,
           lease_until = clock_timestamp() + make_interval(secs => case when page_failures + 1 < ${TRIES} then ${RETRY_SECONDS} else ${leaseSeconds} end::float8),
           published_at = case when page_failures + 1 < ${TRIES} then null else published_at end
     where id = ${id} and fence = ${fence} and status = 'processing'
    returning page_failures as failures`);
  const [row] = rows;
  if (row === undefined) return 'lost';
  if (row.failures < TRIES) return 'later';
  return row.failures < TRIES + MOST_GIVEN_UP ? 'person' : 'cycle';
}

/** processing -> failed under the fence: nobody more is read; who was read before is served. False: it is lost. */
export async function failCycle(tx: Tx, { id, fence }: Pick<Cycle, 'id' | 'fence'>, error: string): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    update scheduled_trigger_execution
       set status = 'failed', reason_code = 'decision_failed', error_message = ${error}, completed_at = app_now(), fence = fence + 1, lease_until = null
     where id = ${id} and fence = ${fence} and status = 'processing'`);
  return rowCount === 1;
}
