import { getCampaignResult, heartbeatCampaign } from '@dueline/campaigns';
import type { Db } from '@dueline/db';
import type { StartedDelivery } from '@dueline/deliveries';
import type { Log } from '@dueline/mq';
import type { Reach } from '@dueline/runtime';
import { closeEnded } from './close-campaigns.ts';

/** The seeds' 15 minutes without a sign of life are 15 heartbeats. */
const HEARTBEATS_PER_WINDOW = 15;

/**
 * After the verdict on a chunk of a campaign: a sign of life, and the close if it was the last one. Never rejects: what fails
 * here is made up for by the sweep and by the next chunk.
 */
export function afterChunk({
  db,
  log,
  staleSeconds,
  reach,
}: {
  db: Db;
  log: Log;
  staleSeconds: number;
  reach?: Reach | undefined;
}) {
  const everySeconds = staleSeconds / HEARTBEATS_PER_WINDOW;
  return async ({ campaignId }: Pick<StartedDelivery, 'campaignId'>): Promise<void> => {
    if (campaignId === null) return;
    try {
      await heartbeatCampaign(db, { campaignId, everySeconds });
      reach?.('close_campaign.beaten');
      const closed = await closeEnded(db, [campaignId]);
      if (closed.length === 0) return;
      reach?.('close_campaign.closed');
      log.info({ campaignId, people: await getCampaignResult(db, { campaignId }) }, 'a campaign is closed');
    } catch (error) {
      log.warn({ campaignId, err: error }, 'a campaign is closed by the sweep');
    }
  };
}
