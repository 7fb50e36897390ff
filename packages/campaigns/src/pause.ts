import type { Tenant, Ticket } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { type CampaignOutcome, holdCampaign, isRefused, moveCampaign } from './control.ts';
import type { RetryDeliveries } from './retry.ts';

/**
 * scheduled or sending -> paused: none of its requests begins from the commit on. What is at LINE goes to its end, and what is in doubt is asked
 * for under its key.
 *
 * @param options.reasonCode Why, from the closed list of whoever pauses it; `by_person` unless given.
 */
export async function pauseCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign, reasonCode = 'by_person' }: { campaign: Ticket; reasonCode?: string },
): Promise<CampaignOutcome> {
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from: ['scheduled', 'sending'] } });
  if (isRefused(held)) return held;
  return moveCampaign(tx, held, { to: 'paused', set: sql`, reason_code = ${reasonCode}` });
}

/**
 * paused -> scheduled: it is claimed again when it is due, and goes on with what is left. What grew too old while it was paused is planned anew, under
 * a new key, as long as the campaign itself has no last instant.
 */
export async function resumeCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign, retryDeliveries }: { campaign: Ticket; retryDeliveries: RetryDeliveries },
): Promise<CampaignOutcome> {
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from: ['paused'] } });
  if (isRefused(held)) return held;
  if (held.isFrozen && held.notAfter === null)
    await retryDeliveries(tx, tenant, { campaignId: held.id, statuses: ['expired'], deliverUntil: null });
  return moveCampaign(tx, held, { to: 'scheduled', set: sql`, reason_code = null` });
}
