import { getWebhookSecret } from '@dueline/accounts';
import { webhookCall } from '@dueline/contracts';
import { createWebhookClient } from '@dueline/webhook-client';
import type { Worker } from '@dueline/worker-app';
import { callWebhooks, type WebhookDeps } from './call-webhooks.ts';
import type { Config } from './config.ts';
import { createInHand } from './in-hand.ts';

/** Messages in hand; each holds up to 100 tickets of an account. */
const PREFETCH = 10;
/** Of the slots, the part that one account may take. */
const ACCOUNT_PART = 0.25;

/** Calls the receivers of webhooks, within slots of their own, so that none of them holds up a message. */
export function startWebhooks(worker: Worker, config: Config, settle: WebhookDeps['settle']): void {
  const { db, broker, log, metrics, claimedBy, onStop, reach } = worker;
  const attempts = metrics.counter({
    name: 'dueline_webhook_attempts_total',
    help: 'Calls of receivers of webhooks, by what they proved.',
    labels: ['outcome'],
  });
  const { WEBHOOK_DEADLINE_SECONDS: deadline, WEBHOOK_CONCURRENCY: slots, SECRETS_KEY: secretsKey } = config;
  const inHand = createInHand(slots);
  onStop('webhooks in hand', () => inHand.drain());
  const consumer = broker.consume(
    webhookCall,
    callWebhooks({
      ...{ db, log, inHand, settle, reach },
      call: createWebhookClient({
        timeoutMs: deadline * 1_000,
        allowLoopback: config.WEBHOOK_ALLOW_LOOPBACK === true,
      }),
      start: {
        claimedBy,
        leaseSeconds: deadline + config.LEASE_MARGIN_SECONDS,
        settleSeconds: deadline + config.SETTLE_MARGIN_SECONDS,
      },
      mostOfAccount: Math.ceil(slots * ACCOUNT_PART),
      secretOf: (lineOaId) => getWebhookSecret(db, { lineOaId, secretsKey }),
      onSettled: (outcome) => attempts.inc({ outcome }),
    }),
    { concurrency: PREFETCH },
  );
  onStop('webhook consumer', () => consumer.drain());
}
