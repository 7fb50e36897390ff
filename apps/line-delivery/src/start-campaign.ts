import { loadChannelIds } from '@dueline/accounts';
import { type AttentionToOpen, openAttention } from '@dueline/attention';
import {
  type Campaign,
  type CampaignChunk,
  type CampaignStart,
  getCampaignAndValidate,
  getCampaignPace,
  getStartHold,
  isToFreeze,
  type StartHold,
  startCampaign,
} from '@dueline/campaigns';
import { type CampaignTicket, lineDeliveryChunk, type TenantTicket } from '@dueline/contracts';
import { type Db, inTransaction, type Tx } from '@dueline/db';
import {
  announceCampaignDeliveries,
  createChunkDeliveries,
  startsInSeconds,
  unpublishDeliveries,
} from '@dueline/deliveries';
import { PermanentError } from '@dueline/kernel';
import { type Broker, discarded, type Handler } from '@dueline/mq';
import type { Reach } from '@dueline/runtime';
import { publishTickets } from '@dueline/worker-app';
import type { AskMonth } from './ask-months.ts';

export interface StartCampaignDeps {
  readonly db: Db;
  readonly broker: Pick<Broker, 'publish'>;
  readonly claimedBy: string;
  /** Asks LINE how the account's month stands, before anything is frozen; without it that is known from before, or unknown. */
  readonly askMonth?: AskMonth | undefined;
  readonly reach?: Reach | undefined;
}

interface Started {
  readonly result: CampaignStart;
  readonly tickets: readonly TenantTicket[];
  /** Why it was held, where it was. */
  readonly hold: StartHold | undefined;
}

/**
 * Consumer of line_broadcast_rich_message and line_multicast_rich_message: one transaction turns the claim into a start, freezes
 * the recipients and plans a delivery for each chunk; then the tickets of the chunks that begin at once are published. A campaign that was frozen before
 * goes on with what is left; one that needs more messages than LINE says the month has is held before anything is frozen. A repeated or stale ticket
 * starts nothing; tickets that did not arrive are announced again.
 */
export const startCampaigns =
  (deps: StartCampaignDeps): Handler<CampaignTicket> =>
  async ({ data }) => {
    if (deps.askMonth !== undefined && (await isToFreeze(deps.db, data))) await deps.askMonth(data);
    const started = await inTransaction(deps.db, async (tx) => {
      const starting = await start(tx, data, deps.claimedBy);
      if (starting !== undefined) deps.reach?.('start_campaign.freezing');
      return starting;
    });
    if (started === undefined) return discarded('the campaign is not to be started by this ticket');
    const { result, tickets, hold } = started;
    deps.reach?.('start_campaign.frozen');
    await unpublishDeliveries(deps.db, await publishTickets(deps.broker, lineDeliveryChunk, tickets));
    deps.reach?.('start_campaign.handled');
    return {
      outcome: 'done',
      detail: { campaignId: data.campaignId, result, chunks: tickets.length, ...(hold && numbersOf(hold)) },
    };
  };

function numbersOf({ reasonCode, check: { confirmed, people, needed, left } }: StartHold) {
  const numbers = reasonCode === 'quota_short' ? { needed, left } : { confirmed, people };
  const known = Object.entries(numbers).filter((entry): entry is [string, number] => entry[1] !== null);
  return { reasonCode, ...Object.fromEntries(known) };
}

async function start(tx: Tx, ticket: CampaignTicket, claimedBy: string): Promise<Started | undefined> {
  const campaign = await getCampaignAndValidate(tx, ticket);
  if (campaign === undefined) return undefined;
  const planned: TenantTicket[] = [];
  const channelId = (await loadChannelIds(tx, [campaign.lineOaId])).get(campaign.lineOaId);
  if (channelId === undefined) throw new PermanentError('the account of a campaign does not exist');
  const maxPerMinute = await getCampaignPace(tx, { campaignId: campaign.id });
  const result = await startCampaign(tx, campaign, {
    claimedBy,
    planChunks: async (_tx, _campaign, chunks) => {
      planned.push(...(await createChunkDeliveries(tx, chunks.map(requestOf(campaign, { channelId, maxPerMinute })))));
    },
  });
  const tickets = result === 'resumed' ? await announceCampaignDeliveries(tx, { campaignId: campaign.id }) : planned;
  const hold = result === 'needs_attention' ? await getStartHold(tx, { campaignId: campaign.id }) : undefined;
  if (hold !== undefined) await openAttention(tx, [itemOf(campaign, hold)]);
  return { result, tickets, hold };
}

const itemOf = ({ organizationId, lineOaId, id }: Campaign, hold: StartHold): AttentionToOpen => {
  const { reasonCode, ...detail } = numbersOf(hold);
  return { organizationId, lineOaId, refId: id, userId: null, kind: 'campaign_not_sent', reasonCode, detail };
};

const requestOf =
  (
    { organizationId, lineOaId, id, messages, notAfter }: Campaign,
    { channelId, maxPerMinute }: { channelId: string; maxPerMinute: number | null },
  ) =>
  ({ chunkNo, userIds }: CampaignChunk) => ({
    ...{ organizationId, lineOaId, channelId, campaignId: id, chunkNo, userIds, messages },
    deliverUntil: notAfter,
    startsInSeconds: startsInSeconds(chunkNo, maxPerMinute),
  });
