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

export interface ProcessDeps {
  readonly db: Db;
  readonly broker: Pick<Broker, 'publish'>;
  readonly claimedBy: string;
  /** Takes back what the dead held, before what is due is claimed. */
  readonly reap: () => Promise<void>;
  readonly onClaimed: (castType: ClaimedCampaign['castType']) => void;
  readonly reach?: Reach | undefined;
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
    for (let claimed = BATCH; claimed === BATCH && failed === 0 && !signal.aborted; ) {
      const campaigns = await claimCampaigns(deps.db, { claimedBy: deps.claimedBy, limit: BATCH });
      for (const { castType } of campaigns) deps.onClaimed(castType);
      if (campaigns.length > 0) deps.reach?.('process_campaign.claimed');
      const refused = await announce(deps, campaigns);
      if (campaigns.length > refused) deps.reach?.('process_campaign.published');
      claimed = campaigns.length;
      failed += refused;
      published += claimed - refused;
    }
    if (published + failed === 0) return discarded('no campaign is due');
    return { outcome: 'done', detail: { published, failed } };
  };

/** Publishes each ticket on the queue of its cast type and releases what was not confirmed; how many that were. */
async function announce({ db, broker }: ProcessDeps, campaigns: readonly ClaimedCampaign[]): Promise<number> {
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
