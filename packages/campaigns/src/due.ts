import { type Db, sql } from '@dueline/db';

/** The channel on which dispatchers hear that a campaign is due. */
export const CAMPAIGN_DUE_CHANNEL = 'campaign_due';

/** Instants that one look tells: those behind them are found by the next. */
const MOST_INSTANTS = 1_000;

/** Whether a scheduled campaign may be claimed at its time: its account works, and it is not too late for one that never started. */
export const isClaimable = sql`(
  (not_after is null or not_after > app_now() or frozen_at is not null)
  and not exists (select from line_oa join organization on organization.id = line_oa.organization_id
                   where line_oa.id = campaign.line_oa_id
                     and (line_oa.status <> 'active' or line_oa.stopped_at is not null or organization.stopped_at is not null)))`;

/**
 * Milliseconds, by the database's product time, until each campaign that starts within `withinMs` is due, negative for what is
 * overdue. None of a stopped or paused account. Never claims anything.
 */
export async function campaignsDueWithin(db: Db, withinMs: number): Promise<number[]> {
  const { rows } = await db.execute<{ wait_ms: number }>(sql`
    select (extract(epoch from start_date - app_now()) * 1000)::float8 as wait_ms
      from campaign
     where status = 'scheduled' and deleted_date is null
       and start_date <= app_now() + make_interval(secs => ${withinMs / 1_000}) and ${isClaimable}
     order by start_date, id limit ${MOST_INSTANTS}`);
  return rows.map((row) => row.wait_ms);
}
