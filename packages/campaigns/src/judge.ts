import type { Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';

/** When a campaign pauses itself: more than `percent` of its last `requests` requests that ended were refused. */
export interface ErrorLimits {
  readonly requests: number;
  /** 100: never. */
  readonly percent: number;
}

/** A campaign that paused itself, and the numbers that speak for it. */
export interface FailingCampaign extends Tenant {
  readonly campaignId: string;
  readonly refused: number;
  readonly ended: number;
  /** Requests that wait for a person now. */
  readonly left: number;
}

type Counted = { organization_id: string; line_oa_id: string; refused: number; ended: number; remaining: number };

/**
 * sending -> paused (`error_rate`) for a campaign of whose last requests too many were refused, as long as some are left. What is at LINE ends
 * by itself. Only what ended since it was judged last counts, so that a person who lets it go on is not contradicted by what was known
 * before. Undefined: it goes on, or is not being sent.
 */
export async function pauseFailingCampaign(
  tx: Tx,
  { campaignId, limits }: { campaignId: string; limits: ErrorLimits },
): Promise<FailingCampaign | undefined> {
  const { rows: held } = await tx.execute(
    sql`select from campaign where id = ${campaignId} and status = 'sending' for no key update`,
  );
  if (held.length === 0) return undefined;
  const { rows } = await tx.execute<Counted>(sql`
    with ended as materialized (
      select delivery.status
        from delivery join campaign on campaign.id = delivery.campaign_id
       where campaign.id = ${campaignId} and delivery.status in ('accepted', 'refused')
         and (campaign.judged_from is null or delivery.updated_date > campaign.judged_from)
       order by delivery.updated_date desc, delivery.id desc limit ${limits.requests}
    )
    select organization_id, line_oa_id, (select count(*)::int from ended) as ended,
           (select count(*)::int from ended where ended.status = 'refused') as refused,
           (select count(*)::int from delivery where campaign_id = campaign.id and status = 'planned') as remaining
      from campaign where id = ${campaignId}`);
  const [row] = rows;
  if (row === undefined || row.remaining === 0 || !isFailing(row, limits)) return undefined;
  await tx.execute(sql`
    update campaign
       set status = 'paused', fence = fence + 1, reason_code = 'error_rate', updated_date = clock_timestamp(),
           judged_from = (select max(updated_date) from delivery where campaign_id = ${campaignId} and status in ('accepted', 'refused'))
     where id = ${campaignId}`);
  const { organization_id: organizationId, line_oa_id: lineOaId, refused, ended, remaining: left } = row;
  return { organizationId, lineOaId, campaignId, refused, ended, left };
}

/** Too few requests say nothing. */
const isFailing = ({ refused, ended }: Counted, { requests, percent }: ErrorLimits): boolean =>
  ended >= requests && refused * 100 > ended * percent;
