import { type Db, sql } from '@dueline/db';
import type { StartedDelivery } from './start.ts';

/**
 * Whether the request of a started delivery may still begin: it is this owner's, its account is not stopped, and, unless an attempt before it is in
 * doubt, its campaign is being sent and its account not paused. What was true when it was started may have ended since.
 *
 * @throws TransientError when the database was not ready.
 */
export async function mayBegin(
  db: Db,
  { id, fence, verdict }: Pick<StartedDelivery, 'id' | 'fence' | 'verdict'>,
): Promise<boolean> {
  const isInDoubt = verdict === 'ambiguous';
  const { rowCount } = await db.execute(sql`
    select from delivery
      join line_oa as account on account.id = delivery.line_oa_id and account.deleted_date is null and account.stopped_at is null
      join organization on organization.id = delivery.organization_id and organization.stopped_at is null
      left join campaign on campaign.id = delivery.campaign_id
     where delivery.id = ${id} and delivery.fence = ${fence} and delivery.status = 'sending'
       and (${isInDoubt} or (account.status = 'active'
                             and (delivery.campaign_id is null or (campaign.status = 'sending' and campaign.deleted_date is null))))`);
  return rowCount === 1;
}
