import { type ClaimedCampaign, claimCampaigns, releaseCampaign } from '@dueline/campaigns';
import {
  CAST_TYPE,
  type CampaignTicket,
  lineBroadcastRichMessage,
  lineMulticastRichMessage,
  type Queue,
} from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { type Broker, discarded, type Handler } from '@dueline/mq';
import type { Reach } from '@dueline/runtime';

/** Campaigns per claim: few, so that one dispatcher does not hold many tickets at once. */
const BATCH = 50;

export interface PublishDeps {
  readonly db: Db;
  readonly broker: Pick<Broker, 'publish'>;
  readonly claimedBy: string;
  readonly onClaimed: (campaign: Pick<ClaimedCampaign, 'castType' | 'lateSeconds'>) => void;
  readonly reach?: Reach | undefined;
}

export interface ProcessDeps extends PublishDeps {
  /** Takes back what the dead held, before what is due is claimed. */
  readonly reap: () => Promise<void>;
}

/**
 * Consumer of process_campaign: reap, claim, publish. A campaign whose ticket was not confirmed is scheduled again at once,
 * under a new fence; the next tick claims it. A tick that is repeated, late or meets another dispatcher claims nothing twice.
 */
export const processCampaigns =
  (deps: ProcessDeps): Handler<null> =>
  async (_tick, { signal }) => {
    await deps.reap();
    let published = 0;
    let failed = 0;
    for (let isMore = true; isMore && !signal.aborted; ) {
      const batch = await publishDueCampaigns(deps);
      published += batch.published;
      failed += batch.failed;
      isMore = batch.isMore;
    }
    if (published + failed === 0) return discarded('no campaign is due');
    return { outcome: 'done', detail: { published, failed } };
  };

export interface PublishedBatch {
  readonly published: number;
  readonly failed: number;
  /** Whether it was a whole batch and all of it was published: there may be more. */
  readonly isMore: boolean;
}

/** One batch of due campaigns: claimed, published, and released where that was not confirmed. */
export async function publishDueCampaigns(deps: PublishDeps): Promise<PublishedBatch> {
  const campaigns = await claimCampaigns(deps.db, { claimedBy: deps.claimedBy, limit: BATCH });
  for (const campaign of campaigns) deps.onClaimed(campaign);
  if (campaigns.length > 0) deps.reach?.('process_campaign.claimed');
  const failed = await announce(deps, campaigns);
  const published = campaigns.length - failed;
  if (published > 0) deps.reach?.('process_campaign.published');
  return { published, failed, isMore: campaigns.length === BATCH && failed === 0 };
}

/** Publishes each ticket on the queue of its cast type and releases what was not confirmed; how many that were. */
async function announce({ db, broker }: PublishDeps, campaigns: readonly ClaimedCampaign[]): Promise<number> {
  const send = (queue: Queue<CampaignTicket>, tickets: readonly CampaignTicket[]) =>
    publishCampaigns(broker, queue, tickets);
  const of = (isBroadcast: boolean) =>
    campaigns.filter(({ castType }) => (castType === CAST_TYPE.broadcast) === isBroadcast).map(({ ticket }) => ticket);
  const failed = [
    ...(await send(lineBroadcastRichMessage, of(true))),
    ...(await send(lineMulticastRichMessage, of(false))),
  ];
  for (const ticket of failed) await releaseCampaign(db, ticket);
  return failed.length;
}

async function publishCampaigns(
  broker: Pick<Broker, 'publish'>,
  queue: Queue<CampaignTicket>,
  tickets: readonly CampaignTicket[],
): Promise<CampaignTicket[]> {
  if (tickets.length === 0) return [];
  const results = await broker.publish(
    queue,
    tickets.map((data) => ({ tenant: { organizationId: data.organizationId, lineOaId: data.lineOaId }, data })),
  );
  return tickets.filter((_, at) => !results[at]?.ok);
}
