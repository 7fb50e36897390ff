import { type Db, sql } from '@dueline/db';
import { isClaimable } from './due.ts';

export interface CampaignLiveness {
  /** For how many seconds of product time the oldest campaign that may be claimed has been due; 0 when none is. */
  readonly oldestDueSeconds: number;
  readonly sending: number;
  /** For how many seconds of process time the most silent campaign that is being sent has given no sign of life; 0 when none is. */
  readonly silentSeconds: number;
}

/** Whether campaigns start in time, and whether those that were started are alive; of all accounts. */
export async function campaignLiveness(db: Db): Promise<CampaignLiveness> {
  const { rows } = await db.execute<{ oldest: string; sending: number; silent: string }>(sql`
    select (select coalesce(extract(epoch from app_now() - min(start_date)), 0) from campaign
             where status = 'scheduled' and deleted_date is null and start_date <= app_now() and ${isClaimable}) as oldest,
           count(*)::int as sending,
           coalesce(max(extract(epoch from looked_at - claimed_at)), 0) as silent
      from campaign cross join (select clock_timestamp() as looked_at) as process
     where status = 'sending'`);
  const [found] = rows;
  return {
    oldestDueSeconds: Number(found?.oldest ?? 0),
    sending: found?.sending ?? 0,
    silentSeconds: Math.max(0, Number(found?.silent ?? 0)),
  };
}
