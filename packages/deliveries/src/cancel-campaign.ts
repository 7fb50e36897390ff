import type { Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { isInDoubt } from './state.ts';

/** What became of the requests of a campaign that shall not go on. */
export interface StoppedRequests {
  /** Nothing had left of these, and nothing will. */
  readonly cancelled: number;
  /** At LINE at this moment. */
  readonly inFlight: number;
  /** May have arrived: asked for under their key until that is known. */
  readonly inDoubt: number;
}

/**
 * planned -> cancelled for all requests of a campaign that nothing may have left of. The caller holds the campaign in a status in which none of
 * it starts. What comes back clean later, or is split, is planned again and needs another call. Locks in id order.
 */
export async function cancelCampaignDeliveries(
  tx: Tx,
  { organizationId, lineOaId }: Tenant,
  { campaignId }: { campaignId: string },
): Promise<StoppedRequests> {
  const isIts = sql`campaign_id = ${campaignId} and organization_id = ${organizationId} and line_oa_id = ${lineOaId}`;
  await tx.execute(sql`select from delivery where ${isIts} and status = 'planned' order by id for no key update`);
  // A statement of its own, so that it sees the attempts of whoever it waited for.
  const { rows } = await tx.execute<{ [what in keyof StoppedRequests]: number }>(sql`
    with found as materialized (
      select id, status,
             exists (select from delivery_attempt where delivery_id = delivery.id and retry_key = delivery.retry_key and ${isInDoubt}) as in_doubt
        from delivery where ${isIts} and status in ('planned', 'sending')
    ), cancelled as (
      update delivery
         set status = 'cancelled', fence = delivery.fence + 1, reason_code = 'campaign_cancelled', updated_date = clock_timestamp()
       where id = any(array(select id from found where status = 'planned' and not in_doubt))
      returning id
    )
    select count(cancelled.id)::int as cancelled,
           count(*) filter (where status = 'sending')::int as "inFlight",
           count(*) filter (where status = 'planned' and in_doubt)::int as "inDoubt"
      from found left join cancelled on cancelled.id = found.id`);
  return rows[0] ?? { cancelled: 0, inFlight: 0, inDoubt: 0 };
}
