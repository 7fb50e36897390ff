import { type Db, jumpAhead, openRequests, type ProductTime, sql } from '@dueline/db';
import { PermanentError, sleep } from '@dueline/kernel';
import type { LineSimulator } from './simulator.ts';

const POLL_MS = 50;
/** How long a jump waits for requests that are on their way to LINE. */
const CALM_TIMEOUT_MS = 30_000;
const CLAIM_TIMEOUT_MS = 60_000;

/**
 * Moves product time ahead by so many seconds, the database's and the simulated LINE's together. Waits until no request is on its
 * way, and after the jump until what it made due has been claimed.
 *
 * @throws PermanentError when requests stay open for ten seconds, or when what came due is not claimed within a minute; says which.
 */
export async function travel(db: Db, line: Pick<LineSimulator, 'moveClock'>, seconds: number): Promise<ProductTime> {
  const moveOthers = (aheadSeconds: number) => line.moveClock(aheadSeconds * 1_000);
  for (const deadline = performance.now() + CALM_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const time = await jumpAhead(db, { seconds, moveOthers });
    if (time !== undefined) {
      await untilClaimed(db);
      return time;
    }
    if (performance.now() > deadline)
      throw new PermanentError(`time cannot move while requests are open: ${(await openRequests(db)).join('; ')}`);
  }
}

async function untilClaimed(db: Db): Promise<void> {
  for (const deadline = performance.now() + CLAIM_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    const waiting = await unclaimed(db);
    if (waiting === 0) return;
    if (performance.now() > deadline) throw new PermanentError(`${waiting} rows that came due are not claimed yet`);
  }
}

/** What is due and waits for a claimer; waits for a person are claimed a little later than due, on purpose, and stopped accounts never. */
async function unclaimed(db: Db): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(sql`
    select (select count(*) from scheduled_action as action
              join line_oa as account on account.id = action.line_oa_id
              join organization on organization.id = action.organization_id
             where action.status = 'pending' and execute_at <= app_now() and (expires_at is null or branch is not null)
               and account.status = 'active' and account.stopped_at is null and organization.stopped_at is null)::int
         + (select count(*) from campaign
              join line_oa as account on account.id = campaign.line_oa_id
              join organization on organization.id = campaign.organization_id
             where campaign.status = 'scheduled' and campaign.deleted_date is null and start_date <= app_now()
               and account.status = 'active' and account.stopped_at is null and organization.stopped_at is null)::int
         as count`);
  return rows[0]?.count ?? 0;
}
