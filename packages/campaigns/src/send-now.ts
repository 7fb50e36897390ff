import type { Ticket } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';

/**
 * draft or scheduled -> scheduled for this instant, under the fence that the person saw: dispatchers are told at the commit and claim it as any
 * other, so that nothing is lost with whoever asked, and no broker is needed to ask. Returns the new ticket; undefined when the
 * campaign has moved on, is deleted, or its recipients are frozen.
 *
 * @param tx As the tenant (`inTenant`), with whatever must be agreed to before.
 * @param options.confirmedCount How many people the author agreed to reach; undefined: what was agreed before.
 */
export async function sendCampaignNow(
  tx: Tx,
  { campaign, confirmedCount }: { campaign: Ticket; confirmedCount?: number | undefined },
): Promise<Ticket | undefined> {
  const { rows } = await tx.execute<{ id: string; fence: string }>(sql`
    update campaign
       set status = 'scheduled', fence = fence + 1, start_date = app_now(),
           not_after = case when not_after > app_now() then not_after end,
           confirmed_count = coalesce(${confirmedCount ?? null}, confirmed_count), updated_date = clock_timestamp()
     where id = ${campaign.id} and fence = ${campaign.fence} and status in ('draft', 'scheduled')
       and frozen_at is null and deleted_date is null
    returning id, fence`);
  return rows[0];
}
