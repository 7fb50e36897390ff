import type { Tenant, Ticket, Tickets } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import {
  type AttemptResult,
  postponeQuiet,
  type SendEndpoint,
  type Settlement,
  type Start,
  type StartedDelivery,
  startDeliveries,
  startMenuDeliveries,
} from '@dueline/deliveries';
import { errorText } from '@dueline/kernel';
import type { LineClient } from '@dueline/line-client';
import { discarded, type Handler, type Log } from '@dueline/mq';
import { currentTraceparent, type Reach, withSpan } from '@dueline/runtime';
import { type MenuLine, menuCalls } from './ask-menus.ts';
import { resultOf } from './attempt-result.ts';
import { beginBy, type KnownSend } from './begin.ts';
import type { InHand } from './in-hand.ts';
import type { Limits } from './limits/limits.ts';
import type { Guard, SentAttempt } from './send-guard.ts';

export interface ExecuteDeps {
  readonly db: Db;
  readonly line: Pick<LineClient, SendEndpoint> & MenuLine;
  readonly start: Start;
  readonly inHand: InHand;
  /** How often LINE may be called. */
  readonly limits: Limits;
  readonly log: Log;
  /** The account's token. @throws PermanentError when it has none. */
  readonly channelAccessToken: (lineOaId: string) => Promise<string>;
  /** Writes what an attempt proved; false when the row was not ours any more. */
  readonly settle: (settlement: Settlement) => Promise<boolean>;
  /** Told after the verdict was written, before the slot is given back. Never rejects. */
  readonly onSettled: (outcome: AttemptResult['outcome'], started: StartedDelivery) => void | Promise<void>;
  /** Told how long a request to LINE took, with what was waited for before it, in milliseconds. */
  readonly onAnswered?: ((endpoint: string, ms: number) => void) | undefined;
  /** For so many milliseconds what was started is sent without asking again; 250 when not given. */
  readonly believedMs?: number | undefined;
  /** What stops an account's sends; without it every answer stands as it is. */
  readonly guard?: Guard | undefined;
  readonly reach?: Reach | undefined;
}

/**
 * Consumer of action_execute and line_delivery_chunk: starts each delivery (owned, attempt written ahead) that LINE's limits leave room for, acks,
 * and sends in the background within the slots there are. What LINE answered is written under the fence. What there is no room for within a second
 * is put back. A repeated or stale ticket starts nothing.
 */
export const executeActions =
  (deps: ExecuteDeps): Handler<Tickets> =>
  async ({ tenant, data }, { signal }) => {
    let started = 0;
    let late = 0;
    const admitted = (await deps.guard?.admit(tenant.lineOaId, data.tickets)) ?? data.tickets;
    const onPace = await deps.limits.onPace(tenant, admitted);
    late += admitted.length - onPace.length;
    for (let rest: readonly Ticket[] = onPace; rest.length > 0; ) {
      const { slots, putBack } = await deps.limits.admit(tenant, rest, signal);
      if (slots + putBack === 0) throw new Error('stopped before every delivery was started'); // unacked: the rest comes again
      if (slots > 0) started += await startInSlots(deps, { tenant, tickets: rest.slice(0, slots), slots });
      late += putBack;
      rest = rest.slice(slots, rest.length - putBack);
    }
    if (started + late === 0) return discarded('no ticket held a delivery');
    return { outcome: 'done', detail: { started, ...(late > 0 && { putBack: late }) } };
  };

async function startInSlots(
  deps: ExecuteDeps,
  { tenant, tickets, slots }: { tenant: Tenant; tickets: readonly Ticket[]; slots: number },
): Promise<number> {
  let owned = 0;
  try {
    await deps.limits.within(tenant, tickets, async (startable) => {
      const knownAt = performance.now();
      const deliveries = await startDeliveries(deps.db, tenant, { tickets: startable, start: deps.start });
      owned = deliveries.length;
      if (owned > 0) deps.reach?.('send.started');
      for (const delivery of deliveries)
        void sendAndSettle(deps, delivery, () => sendJudged(deps, { send: delivery, knownAt }));
      const others = notAmong(deliveries, startable);
      owned += await startMenusInSlots(deps, tenant, others);
      if (owned < startable.length) await postponeQuiet(deps.db, tenant, others);
      return deliveries;
    });
    return owned;
  } finally {
    for (let unused = slots - owned; unused > 0; unused -= 1) deps.inHand.give();
  }
}

/** What is no send of messages may be a switch of a menu; what was started before is neither. Returns how many. */
async function startMenusInSlots(deps: ExecuteDeps, tenant: Tenant, tickets: readonly Ticket[]): Promise<number> {
  if (tickets.length === 0) return 0;
  const menus = await startMenuDeliveries(deps.db, tenant, { tickets, start: deps.start });
  if (menus.length > 0) deps.reach?.('send.started');
  for (const { menu, ask } of menuCalls(deps, menus)) void sendAndSettle(deps, menu, ask);
  return menus.length;
}

function notAmong(deliveries: readonly StartedDelivery[], tickets: readonly Ticket[]): Ticket[] {
  const started = new Set(deliveries.map(({ id }) => id));
  return tickets.filter(({ id }) => !started.has(id));
}

/** One attempt from call to verdict. Never rejects: what cannot be written is left to the lease, as after a crash. */
async function sendAndSettle(
  deps: ExecuteDeps,
  delivery: StartedDelivery,
  ask: () => Promise<AttemptResult>,
): Promise<void> {
  const fields = { deliveryId: delivery.id, lineOaId: delivery.lineOaId, attempt: delivery.attemptNo };
  const cause = currentTraceparent(); // the message that brought the ticket, in a trace of its own where the delivery has one
  try {
    const result = await withSpan(
      `LINE ${delivery.endpoint}`,
      { parent: delivery.traceparent ?? undefined, links: cause === undefined ? [] : [cause], kind: 'client' },
      async (span) => {
        const askedAt = performance.now();
        const answer = await ask();
        deps.onAnswered?.(delivery.endpoint, performance.now() - askedAt);
        span.setAttributes({ 'dueline.outcome': answer.outcome, 'dueline.delivery.id': delivery.id });
        if (answer.lineRequestId !== undefined) span.setAttribute('line.request_id', answer.lineRequestId);
        return answer;
      },
    );
    deps.reach?.('send.answered');
    const mine = await deps.settle({ started: delivery, result });
    deps.reach?.('send.settled');
    if (!mine)
      deps.log.warn({ ...fields, outcome: result.outcome }, 'the lease was over before the answer was written');
    await deps.onSettled(result.outcome, delivery);
  } catch (error) {
    deps.log.error({ ...fields, err: error }, 'an attempt could not be recorded; it is settled after its lease');
  } finally {
    deps.inHand.give();
  }
}

/** What the attempt proved of the delivery, once it is known what the answer says of the account. */
async function sendJudged(deps: ExecuteDeps, known: KnownSend): Promise<AttemptResult> {
  const sent = await send(deps, known);
  return deps.guard === undefined ? sent.result : deps.guard.judge(known.send, sent);
}

async function send(deps: ExecuteDeps, known: KnownSend): Promise<SentAttempt> {
  const { lineOaId, endpoint, retryKey, body, intact } = known.send;
  if (!intact)
    return {
      result: { outcome: 'refused', detail: 'the stored body is not the one that was decided; it was not sent' },
    };
  let channelAccessToken: string;
  try {
    channelAccessToken = await deps.channelAccessToken(lineOaId);
  } catch (error) {
    return { result: { outcome: 'auth', detail: errorText(error) }, tokenError: error }; // nothing was sent
  }
  const latest = await beginBy(deps.db, known, deps.believedMs);
  if (latest === undefined)
    return { result: { outcome: 'not_reached', detail: 'it was stopped before its request began' } };
  const answer = await deps.line[endpoint]({ channelAccessToken, retryKey, body, beginBy: latest });
  if (endpoint !== 'broadcast') await deps.limits.answered(lineOaId, answer); // those are limited by the hour
  return { result: resultOf(answer), asked: { answer, token: channelAccessToken } };
}
