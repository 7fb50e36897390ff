import type { Db } from '@dueline/db';
import { sleep } from '@dueline/kernel';
import type { ProductClock } from './clock.ts';

const POLL_MS = 100;
/** How far time goes on at a time: every back-off is over after some of these. */
const STEP_SECONDS = 30;
/** Until what is due has been done, several leases. */
const PATIENCE_MS = 60_000;
/** Time in which a duplicate would show. */
const QUIET_MS = 2_000;

interface Rest {
  /** Rows that have something before them. */
  readonly open: string[];
  /** Whether some of that can be done now; what cannot waits for its time. */
  readonly isDue: boolean;
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
    const { open, isDue } = await look(db);
    if (open.length === 0) break;
    if (isDue) continue;
    await clock.ahead(STEP_SECONDS, 1_000);
    deadline = performance.now() + PATIENCE_MS;
  }
  await sleep(QUIET_MS, interrupted);
  return (await look(db)).open;
}

async function look(db: Db): Promise<Rest> {
  const { rows } = await db.$client.query<{ what: string; due: boolean }>(`
    select 'event ' || id || ' is ' || status as what, true as due from event_outbox
     union all
    select 'scheduled_action ' || id || ' is ' || status, execute_at <= app_now() from scheduled_action
     where status in ('pending', 'processing')
     union all
    select 'delivery ' || id || ' is ' || status, status = 'sending' or next_attempt_at <= app_now() from delivery
     where status in ('planned', 'sending')
     union all
    select 'campaign ' || id || ' is ' || status, not exists (
             select from delivery where campaign_id = campaign.id and status = 'planned') from campaign
     where status in ('scheduled', 'sending')`);
  return { open: rows.map(({ what }) => what), isDue: rows.some(({ due }) => due) };
}
