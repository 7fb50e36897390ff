import { errorText, storableText } from '@dueline/kernel';
import { type buildConnector, Client, type Dispatcher } from 'undici';
import { ForbiddenTargetError, guardedConnector, type Resolve, targetOf } from './connect.ts';
import { signatureOf } from './sign.ts';

/** One attempt. `body` is sent byte for byte (UTF-8), so that a retry is the same request under the same id. */
export interface WebhookRequest {
  readonly url: string;
  /** Names the webhook over all its attempts: a receiver that sees it again has it already. */
  readonly id: string;
  /** Exact JSON text. */
  readonly body: string;
  /** `whsec_` and the key in base64. */
  readonly secret: string;
}

/**
 * What an attempt proves. `accepted`: the receiver answered 2xx. `refused`: it will never take it, or must not be asked; `auth` (401, 403)
 * and `throttled` (429): not now; `not_reached`: there was no connection; `ambiguous`: it may have acted on it.
 */
export interface WebhookOutcome {
  readonly kind: 'accepted' | 'refused' | 'auth' | 'throttled' | 'not_reached' | 'ambiguous';
  readonly status?: number | undefined;
  /** Short, without anything of URL, body, answer or secret. */
  readonly detail?: string | undefined;
  /** How long the receiver wants to be left alone, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** Never throws and never retries: when and whether to try again is decided where the attempt is recorded. */
export type CallWebhook = (request: WebhookRequest) => Promise<WebhookOutcome>;

/** Of an answer so much is read before the connection is given up, in bytes. Nothing of it is kept. */
const MAX_ANSWER_BYTES = 65_536;

/** Answers of 4xx that say something of now, or of how the receiver is set up, and not of the request. */
const NOT_FOR_GOOD: ReadonlySet<number> = new Set([404, 408, 409, 421, 423, 425]);

/**
 * Calls webhooks: signed, over TLS, to addresses of the public internet only, without redirects, each on a connection of its own.
 *
 * @param options.timeoutMs Longest time for one attempt, in milliseconds.
 * @param options.allowLoopback For tests: this machine may be called too, and without TLS.
 * @param options.resolve The addresses of a host, asked at each attempt; DNS unless given.
 * @param options.clockMs Milliseconds since 1970 of process time: receivers compare them with their own clocks.
 */
export function createWebhookClient(options: {
  timeoutMs: number;
  allowLoopback?: boolean | undefined;
  resolve?: Resolve | undefined;
  clockMs?: () => number;
}): CallWebhook {
  const { timeoutMs, allowLoopback = false, resolve, clockMs = Date.now } = options;
  const reachable = { allowLoopback, resolve };
  return async (request) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const reached = { connected: false };
    try {
      const target = targetOf(request.url, reachable);
      const connect = telling(guardedConnector(reachable, timeoutMs), reached);
      return await post(request, { target, connect, signal, timestamp: String(Math.floor(clockMs() / 1_000)) });
    } catch (error) {
      return outcomeOfFailure(error, { reached, signal, timeoutMs });
    }
  };
}

interface Post {
  readonly target: ReturnType<typeof targetOf>;
  readonly connect: buildConnector.connector;
  readonly signal: AbortSignal;
  readonly timestamp: string;
}

async function post(
  { id, body, secret }: WebhookRequest,
  { target, connect, signal, timestamp }: Post,
): Promise<WebhookOutcome> {
  const client = new Client(target.origin, { connect, pipelining: 0, headersTimeout: 0, bodyTimeout: 0 });
  try {
    const answer = await client.request({
      path: target.path,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'dueline',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signatureOf({ id, timestamp, body }, secret),
      },
      body,
      signal,
    });
    await answer.body.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => undefined); // what it says does not count
    return outcomeOfAnswer(answer);
  } finally {
    void client.destroy().catch(() => undefined);
  }
}

/** Says whether there was a connection, and so whether the receiver may have got the request. */
const telling =
  (connect: buildConnector.connector, reached: { connected: boolean }): buildConnector.connector =>
  (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      reached.connected = true;
      callback(null, socket);
    });

function outcomeOfAnswer({ statusCode: status, headers }: Dispatcher.ResponseData): WebhookOutcome {
  const retryAfterMs = retryAfter([headers['retry-after'] ?? []].flat()[0]);
  if (status >= 200 && status < 300) return { kind: 'accepted', status };
  const detail = `it answered ${status}`;
  if (status === 401 || status === 403) return { kind: 'auth', status, detail, retryAfterMs };
  if (status === 429) return { kind: 'throttled', status, detail, retryAfterMs };
  if (status >= 500 || NOT_FOR_GOOD.has(status)) return { kind: 'ambiguous', status, detail, retryAfterMs };
  return { kind: 'refused', status, detail: status < 400 ? `${detail}, and redirects are not followed` : detail };
}

function retryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1_000;
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
}

function outcomeOfFailure(
  error: unknown,
  { reached, signal, timeoutMs }: { reached: { connected: boolean }; signal: AbortSignal; timeoutMs: number },
): WebhookOutcome {
  const forbidden = forbiddenIn(error);
  if (forbidden !== undefined) return { kind: 'refused', detail: `it is not called: ${forbidden.message}` };
  const kind = reached.connected ? 'ambiguous' : 'not_reached';
  return { kind, detail: signal.aborted ? `no answer within ${timeoutMs} ms` : codeOf(error) };
}

/** It may be wrapped. */
function forbiddenIn(error: unknown): ForbiddenTargetError | undefined {
  if (error instanceof ForbiddenTargetError) return error;
  return error instanceof Error && error.cause !== undefined ? forbiddenIn(error.cause) : undefined;
}

/** The code of a failure, which carries no data; its text where there is none. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return storableText(errorText(error)).slice(0, 200);
}
