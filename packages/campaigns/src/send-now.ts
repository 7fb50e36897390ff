import type { Ticket } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import type { Confirmed } from './author.ts';
import { confirmPreview } from './preview.ts';

/**
 * draft, scheduled, or needs_attention before its start -> scheduled for this instant, under the fence that the person saw: dispatchers are told at the commit and claim it as any
 * other, so that nothing is lost with whoever asked, and no broker is needed to ask. Returns the new ticket; undefined when the
 * campaign has moved on, is deleted, or its recipients are frozen.
 *
 * @param tx As the tenant (`inTenant`).
 * @throws PermanentError as {@link confirmPreview}: whoever sends has seen to whom.
 */
export async function sendCampaignNow(
  tx: Tx,
  { campaign, token, by }: Confirmed & { campaign: Ticket },
): Promise<Ticket | undefined> {
  const confirmed = await confirmPreview(tx, { campaign, token, by });
  if (confirmed === undefined) return undefined;
  const { rows } = await tx.execute<{ id: string; fence: string }>(sql`
    update campaign
       set status = 'scheduled', fence = fence + 1, start_date = app_now(),
           not_after = case when not_after > app_now() then not_after end,
           confirmed_count = ${confirmed.people}, reason_code = null, updated_date = clock_timestamp()
     where id = ${campaign.id}
    returning id, fence`);
  return rows[0];
}
