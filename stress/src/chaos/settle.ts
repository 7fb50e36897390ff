import type { Db } from '@dueline/db';
import { sleep } from '@dueline/kernel';
import type { ProductClock } from './clock.ts';

const POLL_MS = 100;
/** How far time goes on at least: so many waits are over together. */
const STEP_SECONDS = 30;
/** Until what is due has been done, several leases. */
const PATIENCE_MS = 90_000;
/** Time in which a duplicate would show. */
const QUIET_MS = 2_000;

interface Rest {
  /** Rows that have something before them. */
  readonly open: string[];
  /** How long nothing of that can be done yet, in seconds of product time; 0: some can. */
  readonly waitSeconds: number;
}

/**
 * Lets time run on, in steps, each when all that was due before it has been done, until every row is at its end.
 *
 * @returns What never got there: of the rows that are open a few, in words.
 */
export async function settle(db: Db, clock: ProductClock, interrupted: AbortSignal): Promise<string[]> {
  for (
    let deadline = performance.now() + PATIENCE_MS;
    performance.now() < deadline;
    await sleep(POLL_MS, interrupted)
  ) {
    if (interrupted.aborted) throw new Error('interrupted');
    const { open, waitSeconds } = await look(db);
    if (open.length === 0) break;
    if (waitSeconds === 0) continue;
    await clock.ahead(Math.max(STEP_SECONDS, waitSeconds), 1_000);
    deadline = performance.now() + PATIENCE_MS;
  }
  await sleep(QUIET_MS, interrupted);
  return (await look(db)).open;
}

async function look(db: Db): Promise<Rest> {
  const { rows } = await db.$client.query<{ what: string; wait: number }>(`
    select what, greatest(0, ceil(extract(epoch from coalesce(due, app_now()) - app_now())))::int as wait from (
      select 'event ' || id || ' is ' || status as what, null::timestamptz as due from event_outbox
       union all
      select 'scheduled_action ' || id || ' is ' || status, execute_at from scheduled_action where status in ('pending', 'processing')
       union all
      select 'delivery ' || id || ' is ' || status, case when status = 'planned' then next_attempt_at end from delivery
       where status in ('planned', 'sending')
       union all
      select 'campaign ' || id || ' is ' || status,
             (select min(next_attempt_at) from delivery where campaign_id = campaign.id and status = 'planned') from campaign
       where status in ('scheduled', 'sending')) as rest`);
  return { open: rows.map(({ what }) => what), waitSeconds: Math.min(...rows.map(({ wait }) => wait)) };
}
