import {
  actionExecute,
  lineBroadcastRichMessage,
  lineDeliveryChunk,
  lineMulticastRichMessage,
} from '@dueline/contracts';
import { reapEarlierBoots, type Settlement } from '@dueline/deliveries';
import { createLineClient } from '@dueline/line-client';
import { configOrExit, every, gather } from '@dueline/runtime';
import { runWorker, tellWhenWritten, type Worker } from '@dueline/worker-app';
import { afterChunk } from './after-chunk.ts';
import { type AskMonth, startAskingMonths } from './ask-months.ts';
import { closeEnded } from './close-campaigns.ts';
import { loadConfig } from './config.ts';
import { type ExecuteDeps, executeActions } from './execute-action.ts';
import { createInHand, createPart } from './in-hand.ts';
import { createCampaignJudge } from './judge-campaign.ts';
import { createLimits, type LimitsDeps } from './limits/limits.ts';
import { limitMetrics } from './limits/metrics.ts';
import { createSharedBuckets } from './limits/shared-buckets.ts';
import { measureRequests } from './request-metrics.ts';
import { settleAttempts } from './settle.ts';
import { startCampaigns } from './start-campaign.ts';
import { startComparingSentCounts } from './start-comparing.ts';
import { startGuarding } from './start-guarding.ts';
import { startWebhooks } from './start-webhooks.ts';

/** Messages in hand of each queue; more than what accounts at their limit may hold up. */
const PREFETCH = 40;
/** Of the slots, the part that chunks of campaigns may take: the rest is for those for whom somebody waits. */
const CHUNKS_PART = 0.75;
/** A freeze holds its people in memory, page by page, and takes seconds for a million. */
const CAMPAIGNS_AT_ONCE = 2;
const FREEZE_TIMEOUT_MS = 300_000;
const SETTLE_BATCH = 200;
const EARLIER_BOOTS_EVERY_MS = 1_000;
const config = configOrExit(loadConfig, process.env);
const SETTLE_SECONDS = config.ATTEMPT_DEADLINE_SECONDS + config.SETTLE_MARGIN_SECONDS;

await runWorker('line-delivery', config, async (worker) => {
  const { db, broker, log, claimedBy, onStop, reach } = worker;
  const requests = measureRequests(worker);
  const line = createLineClient({
    baseUrl: config.LINE_API_URL,
    attemptTimeoutMs: config.ATTEMPT_DEADLINE_SECONDS * 1_000,
  });
  onStop('LINE client', () => line.close());

  const { guard, tokens } = startGuarding(worker, config, { settleSeconds: SETTLE_SECONDS });
  const inHand = createInHand(config.SEND_CONCURRENCY);
  const chunksInHand = createPart(inHand, Math.ceil(config.SEND_CONCURRENCY * CHUNKS_PART));
  const limits = limitSends(worker, { push: inHand, chunks: chunksInHand });
  onStop('sends in hand', async () => {
    await Promise.all([chunksInHand.drain(), inHand.drain()]);
  });

  takeBackEarlierBoots(worker);
  const settle = gather((settlements: readonly Settlement[]) => settleAttempts(db, settlements), {
    maxSize: SETTLE_BATCH,
  });

  const judge = judgeCampaigns(worker);
  const chunkSettled = afterChunk({ db, log, staleSeconds: config.CAMPAIGN_STALE_SECONDS, judge, reach });
  const deps: Omit<ExecuteDeps, 'limits'> = {
    db,
    line,
    inHand,
    log,
    settle,
    reach,
    start: {
      claimedBy,
      leaseSeconds: config.ATTEMPT_DEADLINE_SECONDS + config.LEASE_MARGIN_SECONDS,
      settleSeconds: SETTLE_SECONDS,
    },
    guard,
    channelAccessToken: tokens.get,
    onAnswered: requests.onAnswered,
    onSettled: (outcome, started) => {
      requests.count(outcome);
      return chunkSettled(outcome, started);
    },
  };
  const consumers = [
    broker.consume(actionExecute, executeActions({ ...deps, limits: limits.push }), { concurrency: PREFETCH }),
    broker.consume(lineDeliveryChunk, executeActions({ ...deps, inHand: chunksInHand, limits: limits.chunks }), {
      concurrency: PREFETCH,
    }),
  ];
  onStop('consumers', async () => {
    await Promise.all(consumers.map((consumer) => consumer.drain()));
  });
  startCampaignWork(worker, startAskingMonths(worker, { config, channelAccessToken: tokens.get }));
  startWebhooks(worker, config, settle);
  startComparingSentCounts(worker, { config, channelAccessToken: tokens.get });
});

/** Pauses campaigns of which too many requests are refused. */
function judgeCampaigns({ db, log, metrics }: Worker): ReturnType<typeof createCampaignJudge> {
  const paused = metrics.counter({
    name: 'dueline_campaigns_paused_total',
    help: 'Campaigns that paused themselves because too many of their requests were refused.',
  });
  const limits = { requests: config.CAMPAIGN_ERROR_REQUESTS, percent: config.CAMPAIGN_ERROR_PERCENT };
  return createCampaignJudge({ db, log, limits, onPaused: () => paused.inc() });
}

/** How often LINE may be called, shared with the other replicas while Redis is there. */
function limitSends(
  { db, log, metrics, onStop }: Worker,
  inHand: LimitsDeps['inHand'],
): ReturnType<typeof createLimits> {
  const buckets = createSharedBuckets({ url: config.REDIS_URL, replicas: config.LINE_DELIVERY_REPLICAS, log });
  onStop('limits', () => buckets.close());
  return createLimits({ db, buckets, inHand, log, tell: limitMetrics(metrics, buckets.isShared) });
}

/** What an earlier boot of this instance was sending is planned again: a restart must not cost a lease. */
function takeBackEarlierBoots({ db, log, claimedBy, onStop }: Worker): void {
  const earlierBoots = every({
    name: 'deliveries of earlier boots',
    log,
    intervalMs: EARLIER_BOOTS_EVERY_MS,
    run: async () => {
      if ((await reapEarlierBoots(db, { claimedBy, settleSeconds: SETTLE_SECONDS })) === 0) void earlierBoots.stop(); // a new boot cannot meet one later
    },
  });
  onStop('deliveries of earlier boots', () => earlierBoots.stop());
}

/** Starts campaigns, and closes those that nobody closed after their last chunk. */
function startCampaignWork({ db, broker, log, metrics, claimedBy, onStop, reach }: Worker, askMonth: AskMonth): void {
  const close = every({
    name: 'close campaigns',
    log,
    metrics,
    intervalMs: config.CAMPAIGN_CLOSE_INTERVAL_SECONDS * 1_000,
    jitter: 0.2,
    run: () => closeEnded(db),
  });
  onStop('close campaigns', () => close.stop());
  const start = startCampaigns({
    db,
    broker: tellWhenWritten(broker, reach && (() => reach('start_campaign.written'))),
    claimedBy,
    askMonth,
    reach,
  });
  const consumers = [lineBroadcastRichMessage, lineMulticastRichMessage].map((queue) =>
    broker.consume(queue, start, { concurrency: CAMPAIGNS_AT_ONCE, handlerTimeoutMs: FREEZE_TIMEOUT_MS }),
  );
  onStop('campaign consumers', async () => {
    await Promise.all(consumers.map((consumer) => consumer.drain()));
  });
}
