import type { Queue } from '@dueline/contracts';
import { fullJitterMs, PermanentError, PoisonError, ServiceError, sleep, TransientError } from '@dueline/kernel';
import type { ConsumeMessage } from 'amqplib';
import { decode } from './codec.ts';
import { inProcessSpan, markFailed } from './tracing.ts';
import type { ConsumeResult, Emit, Handler, IncomingMessage, Log, PublishResult } from './types.ts';
import { BACKOFF, errorFields } from './waiting.ts';

/** Tries of a handler that fails for unknown reasons; then the message is dead-lettered, its rows come back by lease. */
const UNKNOWN_ERROR_TRIES = 5;
/** A handler that asks for a longer pause gets this one: messages must not stay in hand for the broker's 30 minutes. */
const MAX_PAUSE_MS = 60_000;
/** A later version that no consumer has learned to read for this long is dead-lettered. */
const MAX_DEFER_MS = 24 * 60 * 60 * 1_000;

/** What is the same for all deliveries of one consumer. */
export interface DeliveryContext<Data> {
  readonly queue: Queue<Data>;
  readonly handler: Handler<Data>;
  readonly handlerTimeoutMs: number;
  readonly log: Log;
  readonly emit: Emit;
  readonly defer: (delivery: ConsumeMessage) => Promise<PublishResult>;
  /** Deliveries whose handler cannot proceed; one log line when the first enters and one when the last leaves. */
  readonly troubled: Set<object>;
}

/** The life of the channel that delivered. */
export interface Lease {
  /** Aborts when no further try may start: drain, subscription or channel lost. */
  readonly ended: AbortSignal;
  /** Aborts what runs now: channel lost, or the drain's grace is over. */
  readonly revoked: AbortSignal;
  /** Both act on the delivering channel only: on another one the tag would settle a stranger's message. */
  readonly ack: (delivery: ConsumeMessage) => boolean;
  readonly reject: (delivery: ConsumeMessage) => boolean;
}

interface Ending {
  readonly result: ConsumeResult;
  readonly fields?: object;
  readonly error?: unknown;
  /** RFC 3339, by the publisher's clock. */
  readonly publishedAt?: string;
}

/** Takes one delivery to its end: acknowledged, dead-lettered, or left to be redelivered. Never throws. */
export async function processDelivery<Data>(
  context: DeliveryContext<Data>,
  delivery: ConsumeMessage,
  lease: Lease,
): Promise<void> {
  const startedAt = performance.now();
  const deliveredAt = Date.now();
  const trouble = {};
  let ending: Ending;
  try {
    ending = await work(context, delivery, { ...lease, trouble });
  } catch (error) {
    ending = { result: 'dead_lettered', fields: { reason: 'mq failed' }, error };
  }
  leaveTrouble(context, trouble, ending);
  const settled = settle(ending.result, delivery, lease);
  const ms = Math.round(performance.now() - startedAt);
  const messageId = delivery.properties.messageId;
  report(context, ending, { queue: context.queue.name, messageId, ms, ...(settled ? {} : { settled }) });
  const publishedAt = ending.publishedAt === undefined ? undefined : Date.parse(ending.publishedAt);
  const waitedMs = publishedAt === undefined ? undefined : Math.max(0, deliveredAt - publishedAt);
  context.emit({ type: 'consumed', queue: context.queue.name, result: ending.result, ms, waitedMs });
}

function settle(result: ConsumeResult, delivery: ConsumeMessage, lease: Lease): boolean {
  if (result === 'abandoned') return true;
  return result === 'dead_lettered' ? lease.reject(delivery) : lease.ack(delivery);
}

function report({ log }: { log: Log }, { result, fields = {}, error }: Ending, common: object): void {
  const line = { ...common, outcome: result, ...fields, ...(error === undefined ? {} : failure(error)) };
  if (result === 'dead_lettered') log.error(line, 'message dead-lettered');
  else if (result === 'done') log.debug(line, 'message handled');
  else log.info(line, `message ${result}`);
}

type Watched = Lease & { readonly trouble: object };

async function work<Data>(context: DeliveryContext<Data>, delivery: ConsumeMessage, lease: Watched): Promise<Ending> {
  const decoded = decode(context.queue, delivery);
  if (decoded.kind === 'poison') {
    return { result: 'dead_lettered', fields: { reason: decoded.reason, bytes: delivery.content.length } };
  }
  if (decoded.kind === 'later') return putBack(context, delivery, { ...decoded, lease });
  const { message } = decoded;
  const traceparent = delivery.properties.headers?.traceparent;
  const ending = await inProcessSpan(context.queue.name, traceparent, async (span) => {
    const end = await handleUntilSettled(context, message, lease);
    if (end.result === 'dead_lettered' || end.result === 'abandoned') markFailed(span, end.result);
    return end;
  });
  return { ...ending, publishedAt: message.publishedAt, fields: { ...describe(message), ...ending.fields } };
}

function describe({ tenant, data, deliveryCount }: IncomingMessage<unknown>): object {
  const carried = typeof data === 'object' && data !== null && 'tickets' in data ? data.tickets : undefined;
  const tickets = Array.isArray(carried) ? { tickets: carried.map((ticket: { id?: unknown }) => ticket?.id) } : {};
  return { ...tenant, ...tickets, deliveryCount };
}

async function putBack<Data>(
  context: DeliveryContext<Data>,
  delivery: ConsumeMessage,
  { version, publishedAt, lease }: { version: number; publishedAt: string; lease: Watched },
): Promise<Ending> {
  if (Date.now() - Date.parse(publishedAt) > MAX_DEFER_MS) {
    return { result: 'dead_lettered', fields: { reason: 'no consumer knows this version', version } };
  }
  for (let failures = 0; !lease.ended.aborted; failures++) {
    const result = await context.defer(delivery);
    if (result.ok) return { result: 'deferred', fields: { version } };
    enterTrouble(context, lease.trouble, { reason: result.reason });
    await sleep(fullJitterMs(failures, BACKOFF), lease.ended);
  }
  return { result: 'abandoned', fields: { version } };
}

async function handleUntilSettled<Data>(
  context: DeliveryContext<Data>,
  message: IncomingMessage<Data>,
  lease: Watched,
): Promise<Ending> {
  let unknown = 0;
  for (let failures = 0; ; failures++) {
    const attempt = await tryOnce(context, message, lease.revoked);
    if ('ending' in attempt) return attempt.ending;
    const { error } = attempt;
    if (error instanceof PermanentError || error instanceof PoisonError) return { result: 'dead_lettered', error };
    if (lease.ended.aborted) return { result: 'abandoned', error };
    const transient = error instanceof TransientError;
    if (!transient) unknown++;
    context.emit({ type: 'handler_failed', queue: context.queue.name, kind: transient ? 'transient' : 'unknown' });
    if (unknown >= UNKNOWN_ERROR_TRIES) return { result: 'dead_lettered', fields: { tries: failures + 1 }, error };
    enterTrouble(context, lease.trouble, failure(error));
    await sleep(pauseMs(error, failures), lease.ended);
    if (lease.ended.aborted) return { result: 'abandoned', error };
  }
}

function pauseMs(error: unknown, failures: number): number {
  const asked = error instanceof TransientError ? (error.retryAfterMs ?? 0) : 0;
  return Math.min(Math.max(asked, fullJitterMs(failures, BACKOFF)), MAX_PAUSE_MS);
}

/** A handler that ignores its signal is waited for all the same: a second try beside it would be worse than a slow one. */
async function tryOnce<Data>(
  { handler, handlerTimeoutMs, queue, log }: DeliveryContext<Data>,
  message: IncomingMessage<Data>,
  revoked: AbortSignal,
): Promise<{ ending: Ending } | { error: unknown }> {
  const controller = new AbortController();
  const revoke = () => controller.abort(revoked.reason);
  const timer = setTimeout(() => {
    log.error({ queue: queue.name, messageId: message.id, handlerTimeoutMs }, 'handler exceeds its time');
    controller.abort(new ServiceError('handler exceeds its time'));
  }, handlerTimeoutMs);
  if (revoked.aborted) revoke();
  revoked.addEventListener('abort', revoke, { once: true });
  try {
    const { outcome, detail } = await handler(message, { signal: controller.signal });
    return { ending: { result: outcome, ...(detail === undefined ? {} : { fields: detail }) } };
  } catch (error) {
    return { error };
  } finally {
    clearTimeout(timer);
    revoked.removeEventListener('abort', revoke);
  }
}

function enterTrouble<Data>({ troubled, queue, log }: DeliveryContext<Data>, trouble: object, fields: object): void {
  if (troubled.size === 0) log.warn({ queue: queue.name, ...fields }, 'messages cannot be handled, trying in place');
  troubled.add(trouble);
}

function leaveTrouble<Data>(
  { troubled, queue, log }: DeliveryContext<Data>,
  trouble: object,
  { result }: Ending,
): void {
  const last = troubled.delete(trouble) && troubled.size === 0;
  if (last && (result === 'done' || result === 'discarded' || result === 'deferred'))
    log.warn({ queue: queue.name }, 'messages are handled again');
}

const failure = (error: unknown): object => ({
  ...errorFields(error),
  ...(error instanceof ServiceError ? { context: error.context } : {}),
});
