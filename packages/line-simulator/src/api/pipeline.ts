import { hash } from 'node:crypto';
import { createTokenBucket } from '../channel/rate-limit.ts';
import { isKeyWindowOver, isRetryKey, noteAttempt } from '../channel/retry-keys.ts';
import type { PermutableStep } from '../config.ts';
import { isFields } from '../fields.ts';
import { sentMessages } from '../ledger/ledger-store.ts';
import { type Answer, channelOf, type Exchange, failure, INVALID_TOKEN, RATE_LIMITED, violate } from './exchange.ts';

/** A named check. It answers, or lets the request go on. */
type Step = (exchange: Exchange) => Answer | undefined;

const CONTENT_TYPE = {
  json: /^application\/json\s*(;|$)/i,
  image: /^image\/(png|jpeg)$/i,
  form: /^application\/x-www-form-urlencoded\s*(;|$)/i,
};

/** Names no accepted request, for there is none yet; the text is assumed. */
const KEY_IN_FLIGHT = failure(409, 'A request with this retry key is being processed');

/** Sends that name nobody. */
const WITHOUT_NAMES: ReadonlySet<string> = new Set(['broadcast', 'narrowcast']);

const BEFORE = ['bearer', 'contentType', 'body', 'client', 'keyForbidden', 'keySighting'] as const;
const AFTER = ['quota', 'accept'] as const;
type StepName = (typeof BEFORE)[number] | PermutableStep | (typeof AFTER)[number];

const STEPS: Record<StepName, Step> = {
  bearer(exchange) {
    if (exchange.endpoint.identify !== undefined) return undefined;
    const { token, at } = exchange;
    const channel = token === undefined ? undefined : exchange.channels.byToken(token, at);
    if (channel === undefined) return INVALID_TOKEN;
    exchange.channel = channel;
    exchange.store.requests.channel.set(exchange.request - 1, channel.ref);
    if (exchange.endpoint.isSend && exchange.retryKey === undefined) violate(exchange, { code: 'V1' });
    return undefined;
  },

  contentType({ endpoint, contentType }) {
    if (endpoint.body === 'none' || CONTENT_TYPE[endpoint.body].test(contentType)) return undefined;
    return failure(415, 'Unsupported media type');
  },

  body(exchange) {
    const { rawBody, endpoint } = exchange;
    if (rawBody === 'tooLarge') return failure(413, 'The request body is too large');
    if (rawBody !== undefined) exchange.store.requests.setBody(exchange.request, hash('sha256', rawBody, 'buffer'));
    const text = rawBody?.toString('utf8') ?? '';
    if (endpoint.body === 'form') exchange.body = Object.fromEntries(new URLSearchParams(text));
    return endpoint.body === 'json' ? parseBody(exchange, text) : undefined;
  },

  client(exchange) {
    const refused = exchange.endpoint.identify?.(exchange);
    if (exchange.channel !== undefined) exchange.store.requests.channel.set(exchange.request - 1, exchange.channel.ref);
    return refused;
  },

  keyForbidden(exchange) {
    if (exchange.endpoint.isSend || exchange.retryKey === undefined) return undefined;
    violate(exchange, { code: 'V5' });
    return failure(400, 'The X-Line-Retry-Key header is not allowed for this endpoint');
  },

  keySighting,

  rateLimit(exchange) {
    const { buckets, settings } = channelOf(exchange);
    const { key, limit } = exchange.endpoint;
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = createTokenBucket(settings.knobs.limits[key] ?? limit, settings.knobs.burst);
      buckets.set(key, bucket);
    }
    if (bucket.take(exchange.at)) return undefined;
    noteThrottled(exchange);
    return RATE_LIMITED;
  },

  keySyntax({ endpoint, retryKey }) {
    if (!endpoint.isSend || retryKey === undefined || isRetryKey(retryKey)) return undefined;
    return failure(400, 'The X-Line-Retry-Key header is invalid');
  },

  keyAccepted(exchange) {
    const { store, keyUse, peers, request } = exchange;
    const { sameKeyInFlight } = channelOf(exchange).settings.knobs;
    if (keyUse === undefined) return undefined;
    const isSecond = [...peers].some((peer) => peer < request);
    if (keyUse.accept === 0) return isSecond && sameKeyInFlight === 'conflict' ? KEY_IN_FLIGHT : undefined;
    const first = store.accepts.request.get(keyUse.accept - 1) - 1;
    if (sameKeyInFlight === 'race' && peers.has(first + 1)) return undefined;
    const ids = store.requests.path[first] === '/v2/bot/message/push' && {
      sentMessages: sentMessages(store, keyUse.accept),
    };
    return {
      status: 409,
      body: { message: 'The retry key is already accepted', ...ids },
      acceptedRequestId: store.requests.requestId[first] ?? '',
    };
  },

  validation(exchange) {
    const refused = exchange.endpoint.validate?.(exchange);
    if (exchange.send !== undefined && !WITHOUT_NAMES.has(exchange.endpoint.key)) {
      exchange.store.requests.toCount.set(exchange.request - 1, exchange.send.requested);
    }
    return refused;
  },

  quota(exchange) {
    if (exchange.send === undefined || exchange.endpoint.isFree === true) return undefined;
    const { quota, settings } = channelOf(exchange);
    const { deliverable, requested } = exchange.send;
    const count = settings.knobs.quotaCounts === 'deliverable' ? deliverable : requested;
    return quota.allows(count, exchange.at) ? undefined : failure(429, 'You have reached your monthly limit.');
  },

  accept: (exchange) => exchange.endpoint.answer(exchange),
};

/** An answer and what gave it: a step, or what stands before them all. */
export interface Outcome {
  readonly answer: Answer;
  readonly step: string;
}

/** The steps up to the retry key: they find the channel, and keep the record of the key. */
export function runArrival(exchange: Exchange): Outcome | undefined {
  exchange.agenda.runDue(exchange.at);
  return firstAnswer(exchange, BEFORE);
}

/**
 * All other steps in the order of the request's channel, up to the first that answers.
 * Nothing waits in here, so what one request changes, no other request sees half done.
 */
export function runChecks(exchange: Exchange): Outcome {
  const outcome = firstAnswer(exchange, channelOf(exchange).settings.knobs.order) ?? firstAnswer(exchange, AFTER);
  if (outcome === undefined) throw new Error('no step answered');
  return outcome;
}

function firstAnswer(exchange: Exchange, steps: readonly StepName[]): Outcome | undefined {
  for (const step of steps) {
    const answer = STEPS[step](exchange);
    if (answer !== undefined) return { answer, step };
  }
  return undefined;
}

function parseBody(exchange: Exchange, text: string): Answer | undefined {
  let position = '(line: 1, column: 1)';
  try {
    const body: unknown = JSON.parse(text);
    if (isFields(body)) {
      exchange.body = body;
      return undefined;
    }
  } catch (error) {
    position = parsePosition(error, text);
  }
  return failure(400, `The request body could not be parsed as JSON ${position}`);
}

function parsePosition(error: unknown, text: string): string {
  const named = /line (\d+) column (\d+)/.exec(error instanceof Error ? error.message : '');
  if (named !== null) return `(line: ${named[1]}, column: ${named[2]})`;
  const lines = text.split('\n');
  return `(line: ${lines.length}, column: ${(lines.at(-1)?.length ?? 0) + 1})`;
}

/** Answers nothing: keeps the record of the key, and writes what the client does wrong with it. */
function keySighting(exchange: Exchange): Answer | undefined {
  const { endpoint, retryKey, store, request, channels } = exchange;
  if (!endpoint.isSend) return undefined;
  if (retryKey === undefined || !isRetryKey(retryKey)) {
    noteSendWhilePaused(exchange);
    return undefined;
  }
  const channel = channelOf(exchange);
  const key = retryKey.toLowerCase();
  const before = channel.keys.get(key);
  if (before !== undefined && isKeyWindowOver(channel, store, { use: before, at: exchange.at })) {
    channel.keys.delete(key);
    violate(exchange, { code: 'V4' });
  }
  const use = noteAttempt(channel, key, request);
  exchange.keyUse = use;
  const { requests } = store;
  requests.keyAttempt.set(request - 1, use.attempts);
  if (use.attempts === 1) {
    noteSendWhilePaused(exchange);
    const elsewhere = channels.list().some((other) => other !== channel && other.keys.has(key));
    if (elsewhere) violate(exchange, { code: 'V2', detail: 'other channel' });
  } else if (requests.path[use.firstRequest - 1] !== endpoint.path) {
    violate(exchange, { code: 'V2', detail: 'other endpoint' });
  } else if (!requests.body.equal(use.firstRequest - 1, request - 1)) {
    violate(exchange, { code: 'V2', detail: 'other body' });
  }
  return undefined;
}

/** A send that begins after the pause of its channel was acknowledged; one that had begun is finished with its key. */
function noteSendWhilePaused(exchange: Exchange): void {
  const { pausedAfter } = channelOf(exchange);
  if (pausedAfter !== undefined && exchange.request > pausedAfter) violate(exchange, { code: 'V8' });
}

/** A client that learns meets the limit a few times and slows down; one that goes on meeting it ignores it. */
function noteThrottled(exchange: Exchange): void {
  const { throttled, settings } = channelOf(exchange);
  const { key } = exchange.endpoint;
  const patience = throttled.get(key) ?? createTokenBucket(settings.knobs.tolerated429, 1);
  if (patience.take(exchange.at)) {
    throttled.set(key, patience);
    return;
  }
  // Patience begins anew: one violation for so many refusals, not one for each.
  throttled.delete(key);
  violate(exchange, { code: 'V6', detail: key });
}
