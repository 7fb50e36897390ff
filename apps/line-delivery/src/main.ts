import { getChannelAccessToken } from '@dueline/accounts';
import { actionExecute } from '@dueline/contracts';
import { reapEarlierBoots, type Settlement, settleDeliveries } from '@dueline/deliveries';
import { createLineClient } from '@dueline/line-client';
import { configOrExit, every } from '@dueline/runtime';
import { runWorker } from '@dueline/worker-app';
import { loadConfig } from './config.ts';
import { executeActions } from './execute-action.ts';
import { gather } from './gather.ts';
import { createInHand } from './in-hand.ts';
import { cached } from './token-cache.ts';

const PREFETCH = 20;
const SETTLE_BATCH = 200;
const TOKEN_TTL_MS = 60_000;
const EARLIER_BOOTS_EVERY_MS = 1_000;
const config = configOrExit(loadConfig, process.env);

await runWorker('line-delivery', config, async ({ db, broker, log, metrics, claimedBy, onStop, reach }) => {
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

  const inHand = createInHand(config.SEND_CONCURRENCY);
  onStop('sends in hand', () => inHand.drain());

  const earlierBoots = every({
    name: 'deliveries of earlier boots',
    log,
    intervalMs: EARLIER_BOOTS_EVERY_MS,
    run: async () => {
      if ((await reapEarlierBoots(db, { claimedBy })) === 0) void earlierBoots.stop(); // a new boot cannot meet one later
    },
  });
  onStop('deliveries of earlier boots', () => earlierBoots.stop());

  const settle = gather(async (settlements: readonly Settlement[]) => {
    const moved = await settleDeliveries(db, settlements);
    return settlements.map(({ started }) => moved.has(started.id));
  }, SETTLE_BATCH);

  const consumer = broker.consume(
    actionExecute,
    executeActions({
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
      channelAccessToken: cached(
        (lineOaId) => getChannelAccessToken(db, { lineOaId, secretsKey: config.SECRETS_KEY }),
        TOKEN_TTL_MS,
      ),
      onSettled: (outcome) => attempts.inc({ outcome }),
    }),
    { concurrency: PREFETCH },
  );
  onStop('consumer', () => consumer.drain());
});
