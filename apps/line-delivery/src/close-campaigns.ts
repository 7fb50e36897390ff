import { openAttention } from '@dueline/attention';
import { type ClosedCampaign, closeCampaigns } from '@dueline/campaigns';
import type { Db, Tx } from '@dueline/db';
import { cancelCampaignDeliveries } from '@dueline/deliveries';

/**
 * Closes campaigns of which nothing is under way, and ends those that were cancelled while something was. What did not reach everybody it
 * should, a person hears of.
 *
 * @param campaignIds Only these; all when not given.
 */
export const closeEnded = (db: Db, campaignIds?: readonly string[]): Promise<ClosedCampaign[]> =>
  closeCampaigns(db, {
    ...(campaignIds !== undefined && { campaignIds }),
    stopDeliveries: cancelCampaignDeliveries,
    onClosed: openItems,
  });

/** An item for each that is not sent for another reason than that a person cancelled it. */
const openItems = (tx: Tx, closed: readonly ClosedCampaign[]): Promise<void> =>
  openAttention(
    tx,
    closed
      .filter(({ status }) => status === 'needs_attention' || status === 'failed')
      .map(({ id, status, reasonCode, ...tenant }) => ({
        ...{ ...tenant, kind: 'campaign_not_sent', refId: id, userId: null },
        ...{ reasonCode: reasonCode ?? status, detail: { status } },
      })),
  );
