import { loadChannelIds } from '@dueline/accounts';
import { type AttentionToOpen, openAttention } from '@dueline/attention';
import {
  type Campaign,
  type CampaignChunk,
  type CampaignStart,
  getCampaignAndValidate,
  startCampaign,
} from '@dueline/campaigns';
import { type CampaignTicket, lineDeliveryChunk, type TenantTicket } from '@dueline/contracts';
import { type Db, inTransaction, type Tx } from '@dueline/db';
import { announceCampaignDeliveries, createChunkDeliveries, unpublishDeliveries } from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';
import { type Broker, discarded, type Handler } from '@dueline/mq';
import type { Reach } from '@dueline/runtime';
import { publishTickets } from '@dueline/worker-app';

export interface StartCampaignDeps {
  readonly db: Db;
  readonly broker: Pick<Broker, 'publish'>;
  readonly claimedBy: string;
  readonly reach?: Reach | undefined;
}

interface Started {
  readonly result: CampaignStart;
  readonly tickets: readonly TenantTicket[];
}

/**
 * Consumer of line_broadcast_rich_message and line_multicast_rich_message: one transaction turns the claim into a start, freezes
 * the recipients and plans a delivery for each chunk; then the chunks' tickets are published. A campaign that was frozen before
 * goes on with what is left. A repeated or stale ticket starts nothing; tickets that did not arrive are announced again.
 */
export const startCampaigns =
  (deps: StartCampaignDeps): Handler<CampaignTicket> =>
  async ({ data }) => {
    const started = await inTransaction(deps.db, async (tx) => {
      const starting = await start(tx, data, deps.claimedBy);
      if (starting !== undefined) deps.reach?.('start_campaign.freezing');
      return starting;
    });
    if (started === undefined) return discarded('the campaign is not to be started by this ticket');
    const { result, tickets } = started;
    deps.reach?.('start_campaign.frozen');
    await unpublishDeliveries(deps.db, await publishTickets(deps.broker, lineDeliveryChunk, tickets));
    deps.reach?.('start_campaign.handled');
    return { outcome: 'done', detail: { campaignId: data.campaignId, result, chunks: tickets.length } };
  };

async function start(tx: Tx, ticket: CampaignTicket, claimedBy: string): Promise<Started | undefined> {
  const campaign = await getCampaignAndValidate(tx, ticket);
  if (campaign === undefined) return undefined;
  const planned: TenantTicket[] = [];
  const channelId = (await loadChannelIds(tx, [campaign.lineOaId])).get(campaign.lineOaId);
  if (channelId === undefined) throw new PermanentError('the account of a campaign does not exist');
  const result = await startCampaign(tx, campaign, {
    claimedBy,
    planChunks: async (_tx, _campaign, chunks) => {
      planned.push(...(await createChunkDeliveries(tx, chunks.map(requestOf(campaign, channelId)))));
    },
  });
  if (result === 'needs_attention') await openAttention(tx, [itemOf(campaign)]);
  const tickets = result === 'resumed' ? await announceCampaignDeliveries(tx, { campaignId: campaign.id }) : planned;
  return { result, tickets };
}

const itemOf = ({ organizationId, lineOaId, id }: Campaign): AttentionToOpen => ({
  ...{ organizationId, lineOaId, refId: id, userId: null },
  ...{ kind: 'campaign_not_sent', reasonCode: 'more_than_confirmed' },
});

const requestOf =
  ({ organizationId, lineOaId, id, messages, notAfter }: Campaign, channelId: string) =>
  ({ chunkNo, userIds }: CampaignChunk) => ({
    ...{ organizationId, lineOaId, channelId, campaignId: id, chunkNo, userIds, messages },
    deliverUntil: notAfter,
  });
