import type { Tenant, Ticket, Tickets } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import {
  type AttemptResult,
  postponeDeliveries,
  type Settlement,
  type Start,
  type StartedWebhook,
  startWebhookDeliveries,
} from '@dueline/deliveries';
import { errorText, fullJitterMs } from '@dueline/kernel';
import { discarded, type Handler, type Log } from '@dueline/mq';
import { type Reach, withSpan } from '@dueline/runtime';
import type { CallWebhook } from '@dueline/webhook-client';
import type { InHand } from './in-hand.ts';

export interface WebhookDeps {
  readonly db: Db;
  readonly call: CallWebhook;
  readonly start: Start;
  readonly inHand: InHand;
  /** Of the slots, so many may be one account's: its slow receiver does not hold up others. */
  readonly mostOfAccount: number;
  readonly log: Log;
  /** What the account's webhooks are signed with. @throws PermanentError when it has none. */
  readonly secretOf: (lineOaId: string) => Promise<string>;
  /** Writes what an attempt proved; false when the row was not ours any more. */
  readonly settle: (settlement: Settlement) => Promise<boolean>;
  readonly onSettled: (outcome: AttemptResult['outcome']) => void;
  readonly reach?: Reach | undefined;
}

/** Until a webhook whose account has its slots full is announced again, in milliseconds of product time. */
const ACCOUNT_FULL_MS = 1_000;
/** Between attempts; what ends them is the day that a delivery has. */
const BACK_OFF = { baseMs: 5_000, capMs: 3_600_000 };

/**
 * Consumer of webhook_call: starts each webhook (owned, attempt written ahead), acks, and calls its receiver in the background, within slots
 * of their own. What the receiver answered is written under the fence. A repeated or stale ticket starts nothing.
 */
export function callWebhooks(deps: WebhookDeps): Handler<Tickets> {
  const inHandOf = new Map<string, number>();
  const count = (lineOaId: string, by: number) => {
    const now = (inHandOf.get(lineOaId) ?? 0) + by;
    if (now > 0) inHandOf.set(lineOaId, now);
    else inHandOf.delete(lineOaId);
  };
  return async ({ tenant, data }, { signal }) => {
    const room = Math.max(0, deps.mostOfAccount - (inHandOf.get(tenant.lineOaId) ?? 0));
    const [begun, late] = [data.tickets.slice(0, room), data.tickets.slice(room)];
    count(tenant.lineOaId, begun.length);
    let started = 0;
    let taken = 0;
    try {
      await postponeDeliveries(
        deps.db,
        tenant,
        late.map((ticket) => ({ ...ticket, waitMs: ACCOUNT_FULL_MS })),
      );
      for (const ticket of begun) {
        if (!(await deps.inHand.take(signal))) throw new Error('stopped before every webhook was started'); // unacked: the rest comes again
        taken += 1;
        started += await startOne(deps, { tenant, ticket, onEnd: () => count(tenant.lineOaId, -1) });
      }
    } finally {
      count(tenant.lineOaId, taken - begun.length);
    }
    if (started + late.length === 0) return discarded('no ticket held a webhook');
    return { outcome: 'done', detail: { started, ...(late.length > 0 && { putBack: late.length }) } };
  };
}

async function startOne(
  deps: WebhookDeps,
  { tenant, ticket, onEnd }: { tenant: Tenant; ticket: Ticket; onEnd: () => void },
): Promise<number> {
  const end = () => {
    deps.inHand.give();
    onEnd();
  };
  let started: readonly StartedWebhook[] = [];
  try {
    started = await startWebhookDeliveries(deps.db, tenant, { tickets: [ticket], start: deps.start });
  } finally {
    if (started.length === 0) end();
  }
  if (started.length > 0) deps.reach?.('webhook.started');
  for (const webhook of started) void callAndSettle(deps, webhook).finally(end);
  return started.length;
}

/** One attempt from call to verdict. Never rejects: what cannot be written is left to the lease, as after a crash. */
async function callAndSettle(deps: WebhookDeps, webhook: StartedWebhook): Promise<void> {
  const { id: deliveryId, lineOaId, attemptNo: attempt, traceparent } = webhook;
  try {
    const result = await withSpan(
      'call webhook',
      { parent: traceparent ?? undefined, kind: 'client' },
      async (span) => {
        const outcome = await attemptOf(deps, webhook);
        span.setAttributes({ 'dueline.outcome': outcome.outcome, 'dueline.delivery.id': deliveryId });
        return outcome;
      },
    );
    deps.reach?.('webhook.answered');
    const mine = await deps.settle({ started: webhook, result });
    if (!mine) deps.log.warn({ deliveryId, lineOaId, attempt }, 'the lease was over before the answer was written');
    deps.onSettled(result.outcome);
  } catch (error) {
    deps.log.error(
      { deliveryId, lineOaId, attempt, err: error },
      'a webhook could not be recorded; it is settled after its lease',
    );
  }
}

async function attemptOf({ call, secretOf }: WebhookDeps, webhook: StartedWebhook): Promise<AttemptResult> {
  const { lineOaId, attemptNo, url, payload, retryKey, intact } = webhook;
  const holdMs = fullJitterMs(attemptNo - 1, BACK_OFF);
  if (!intact)
    return { outcome: 'refused', detail: 'the stored body is not the one that was decided; it was not sent' };
  let secret: string;
  try {
    secret = await secretOf(lineOaId);
  } catch (error) {
    return { outcome: 'auth', detail: errorText(error), holdMs }; // nothing was sent
  }
  const { kind, status, detail, retryAfterMs = 0 } = await call({ url, id: retryKey, body: payload, secret });
  const answer = { outcome: kind, httpStatus: status, detail };
  return kind === 'refused' ? answer : { ...answer, holdMs: Math.max(holdMs, Math.min(retryAfterMs, BACK_OFF.capMs)) };
}
