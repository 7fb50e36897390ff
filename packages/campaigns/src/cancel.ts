import type { Tenant, Ticket } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { type CampaignOutcome, holdCampaign, isRefused, moveCampaign } from './control.ts';

/** Ends the requests of a campaign that nothing has left of, and tells what is left: `cancelCampaignDeliveries` of deliveries. */
export type StopDeliveries = (
  tx: Tx,
  tenant: Tenant,
  campaign: { campaignId: string },
) => Promise<{ readonly cancelled: number; readonly inFlight: number; readonly inDoubt: number }>;

/**
 * draft, scheduled, sending, paused or needs_attention -> cancel. Effective at once: none of its requests begins from the commit on, and those that
 * nothing has left of are cancelled in the same transaction. While something is at LINE or in doubt the campaign is stopping: its status is `paused`
 * (or still `needs_attention`) with `cancel_requested_at`, it goes on no more, and closeCampaigns makes it `cancel` when all is known.
 */
export async function cancelCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign, stopDeliveries }: { campaign: Ticket; stopDeliveries: StopDeliveries },
): Promise<CampaignOutcome> {
  const from = ['draft', 'scheduled', 'sending', 'paused', 'needs_attention'] as const;
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from } });
  if (isRefused(held)) return held;
  const { inFlight, inDoubt } = await stopDeliveries(tx, tenant, { campaignId: held.id });
  const isStopping = inFlight + inDoubt > 0;
  const stopping = held.status === 'needs_attention' ? 'needs_attention' : 'paused';
  return moveCampaign(tx, held, {
    to: isStopping ? stopping : 'cancel',
    set: sql`, cancel_requested_at = app_now(), reason_code = 'by_person'`,
  });
}
