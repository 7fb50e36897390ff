import { getChannelAccessToken } from '@dueline/accounts';
import { closeCampaigns } from '@dueline/campaigns';
import {
  actionExecute,
  lineBroadcastRichMessage,
  lineDeliveryChunk,
  lineMulticastRichMessage,
} from '@dueline/contracts';
import { reapEarlierBoots, type Settlement, settleDeliveries } from '@dueline/deliveries';
import { createLineClient } from '@dueline/line-client';
import { configOrExit, every, gather } from '@dueline/runtime';
import { runWorker, tellWhenWritten, type Worker } from '@dueline/worker-app';
import { afterChunk } from './after-chunk.ts';
import { loadConfig } from './config.ts';
import { executeActions } from './execute-action.ts';
import { createInHand } from './in-hand.ts';
import { startCampaigns } from './start-campaign.ts';
import { startComparingSentCounts } from './start-comparing.ts';
import { cached } from './token-cache.ts';

const PREFETCH = 20;
/** A freeze holds its people in memory, page by page, and takes seconds for a million. */
const CAMPAIGNS_AT_ONCE = 2;
const FREEZE_TIMEOUT_MS = 300_000;
const SETTLE_BATCH = 200;
const TOKEN_TTL_MS = 60_000;
const EARLIER_BOOTS_EVERY_MS = 1_000;
const config = configOrExit(loadConfig, process.env);

await runWorker('line-delivery', config, async (worker) => {
  const { db, broker, log, metrics, claimedBy, onStop, reach } = worker;
  const attempts = metrics.counter({
    name: 'dueline_line_attempts_total',
    help: 'Requests to LINE, by what they proved.',
    labels: ['outcome'],
  });
  const line = createLineClient({
    baseUrl: config.LINE_API_URL,
    attemptTimeoutMs: config.ATTEMPT_DEADLINE_SECONDS * 1_000,
  });
  onStop('LINE client', () => line.close());

  const channelAccessToken = cached(
    (lineOaId) => getChannelAccessToken(db, { lineOaId, secretsKey: config.SECRETS_KEY }),
    TOKEN_TTL_MS,
  );
  const inHand = createInHand(config.SEND_CONCURRENCY);
  onStop('sends in hand', () => inHand.drain());

  takeBackEarlierBoots(worker);
  const settle = gather(
    async (settlements: readonly Settlement[]) => {
      const moved = await settleDeliveries(db, settlements);
      return settlements.map(({ started }) => moved.has(started.id));
    },
    { maxSize: SETTLE_BATCH },
  );

  const chunkSettled = afterChunk({ db, log, staleSeconds: config.CAMPAIGN_STALE_SECONDS, reach });
  const execute = executeActions({
    db,
    line,
    inHand,
    log,
    settle,
    reach,
    start: {
      claimedBy,
      leaseSeconds: config.ATTEMPT_DEADLINE_SECONDS + config.LEASE_MARGIN_SECONDS,
      settleSeconds: config.ATTEMPT_DEADLINE_SECONDS + config.SETTLE_MARGIN_SECONDS,
    },
    channelAccessToken,
    onSettled: (outcome, started) => {
      attempts.inc({ outcome });
      return chunkSettled(started);
    },
  });
  const consumers = [actionExecute, lineDeliveryChunk].map((queue) =>
    broker.consume(queue, execute, { concurrency: PREFETCH }),
  );
  onStop('consumers', async () => {
    await Promise.all(consumers.map((consumer) => consumer.drain()));
  });
  startCampaignWork(worker);
  startComparingSentCounts(worker, { config, channelAccessToken });
});

/** What an earlier boot of this instance was sending is planned again: a restart must not cost a lease. */
function takeBackEarlierBoots({ db, log, claimedBy, onStop }: Worker): void {
  const earlierBoots = every({
    name: 'deliveries of earlier boots',
    log,
    intervalMs: EARLIER_BOOTS_EVERY_MS,
    run: async () => {
      if ((await reapEarlierBoots(db, { claimedBy })) === 0) void earlierBoots.stop(); // a new boot cannot meet one later
    },
  });
  onStop('deliveries of earlier boots', () => earlierBoots.stop());
}

/** Starts campaigns, and closes those that nobody closed after their last chunk. */
function startCampaignWork({ db, broker, log, claimedBy, onStop, reach }: Worker): void {
  const close = every({
    name: 'close campaigns',
    log,
    intervalMs: config.CAMPAIGN_CLOSE_INTERVAL_SECONDS * 1_000,
    jitter: 0.2,
    run: () => closeCampaigns(db),
  });
  onStop('close campaigns', () => close.stop());
  const start = startCampaigns({
    db,
    broker: tellWhenWritten(broker, reach && (() => reach('start_campaign.written'))),
    claimedBy,
    reach,
  });
  const consumers = [lineBroadcastRichMessage, lineMulticastRichMessage].map((queue) =>
    broker.consume(queue, start, { concurrency: CAMPAIGNS_AT_ONCE, handlerTimeoutMs: FREEZE_TIMEOUT_MS }),
  );
  onStop('campaign consumers', async () => {
    await Promise.all(consumers.map((consumer) => consumer.drain()));
  });
}
