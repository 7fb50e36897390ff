import { errorText } from '@dueline/kernel';
import { Agent, type Dispatcher } from 'undici';
import { beginsBy, isTooLate } from './begins-by.ts';
import { failureText, outcomeOfFailure } from './network-failure.ts';
import { type LineAnswer, type LineOutcome, type NoAnswer, outcomeOfAnswer, shortDetail } from './outcome.ts';
import { type RichMenuCalls, richMenuCalls } from './rich-menus.ts';

/** One attempt. `body` is sent byte for byte as it was stored (UTF-8), so that a retry is the identical request. */
export interface LineRequest {
  readonly channelAccessToken: string;
  /** The stored X-Line-Retry-Key of this send; the same for every attempt. */
  readonly retryKey: string;
  /** Exact JSON text. */
  readonly body: string;
  /**
   * An instant of `performance.now()` after which nothing of it leaves any more: what waits longer for a connection ends as `not_reached`.
   * Whenever when not given.
   */
  readonly beginBy?: number | undefined;
}

/**
 * Sends one attempt and says what it proves. Never throws and never retries: when and whether to try again is decided
 * where the attempt is recorded. An aborted `signal` ends the attempt as `ambiguous`, or `not_reached` if it had not begun.
 */
export interface LineClient extends RichMenuCalls {
  push(request: LineRequest, signal?: AbortSignal): Promise<LineOutcome>;
  multicast(request: LineRequest, signal?: AbortSignal): Promise<LineOutcome>;
  broadcast(request: LineRequest, signal?: AbortSignal): Promise<LineOutcome>;
  /** Ends the attempts in flight (as `ambiguous`); later ones are `not_reached`. */
  close(): void;
}

/** What one attempt goes out on. */
interface Wire {
  readonly origin: string;
  readonly agent: Agent;
  readonly signal: AbortSignal;
}

/** What one attempt asks. Without a `retryKey` none is sent: some endpoints refuse one. */
interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly channelAccessToken: string;
  readonly retryKey?: string;
  readonly body?: string;
  readonly beginBy?: number | undefined;
}

/** One attempt within its deadline; `read` says what an answer means. */
export type Ask = <Outcome extends object>(
  call: Call & { readonly signal: AbortSignal | undefined; readonly read: (answer: LineAnswer) => Outcome },
) => Promise<Outcome | NoAnswer>;

const SEND_TIMEOUT_MS = 15_000;

/**
 * A client for the sends and the rich menus of people of the LINE Messaging API, with keep-alive connections and without redirects.
 *
 * @param options.baseUrl Only its origin is used, as in LINE's own SDK.
 * @param options.attemptTimeoutMs Longest time for one whole attempt, body included, in milliseconds (15,000).
 */
export function createLineClient({
  baseUrl,
  attemptTimeoutMs = SEND_TIMEOUT_MS,
}: {
  baseUrl: string;
  attemptTimeoutMs?: number;
}): LineClient {
  const inFlight = new Set<AbortController>();
  // The deadline is ours alone: it covers the attempt from its first byte to its last.
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: attemptTimeoutMs } });
  let closed = false;

  const ask: Ask = async ({ signal, read, ...call }) => {
    if (closed) return { kind: 'not_reached', detail: 'client is closed' };
    if (signal?.aborted) return { kind: 'not_reached', detail: 'aborted before the attempt' };
    const attempt = new AbortController();
    const abort = (why: string) => attempt.abort(new Error(why));
    const timer = setTimeout(() => abort(`no whole answer within ${attemptTimeoutMs} ms`), attemptTimeoutMs);
    const onAbort = () => abort('aborted');
    signal?.addEventListener('abort', onAbort, { once: true });
    inFlight.add(attempt);
    try {
      const answer = await askOnce({ origin: new URL(baseUrl).origin, agent, signal: attempt.signal }, call);
      return withoutToken('kind' in answer ? answer : read(answer), call.channelAccessToken);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      inFlight.delete(attempt);
    }
  };
  const sendTo =
    (path: string) =>
    (request: LineRequest, signal?: AbortSignal): Promise<LineOutcome> =>
      ask({ ...request, method: 'POST', path, signal, read: outcomeOfAnswer });

  return {
    push: sendTo('/v2/bot/message/push'),
    multicast: sendTo('/v2/bot/message/multicast'),
    broadcast: sendTo('/v2/bot/message/broadcast'),
    ...richMenuCalls(ask),
    close() {
      closed = true;
      for (const attempt of inFlight) attempt.abort(new Error('client is closed'));
      void agent.destroy();
    },
  };
}

async function askOnce({ origin, agent, signal }: Wire, call: Call): Promise<LineAnswer | NoAnswer> {
  let response: Dispatcher.ResponseData;
  try {
    response = await (call.beginBy === undefined ? agent : agent.compose(beginsBy(call.beginBy))).request({
      origin,
      path: call.path,
      method: call.method,
      headers: {
        authorization: `Bearer ${call.channelAccessToken}`,
        ...(call.body !== undefined && { 'content-type': 'application/json' }),
        ...(call.retryKey !== undefined && { 'x-line-retry-key': call.retryKey }),
      },
      body: call.body ?? null,
      signal,
    });
  } catch (error) {
    if (isTooLate(error)) return { kind: 'not_reached', detail: error.message };
    if (signal.aborted) return { kind: 'ambiguous', detail: shortDetail(abortText(signal)) };
    return outcomeOfFailure(error);
  }
  return readAnswer(response, signal);
}

async function readAnswer(response: Dispatcher.ResponseData, signal: AbortSignal): Promise<LineAnswer> {
  const status = response.statusCode;
  const header = (name: string) => [response.headers[name] ?? []].flat()[0];
  try {
    return { status, header, text: await response.body.text() };
  } catch (error) {
    return { status, header, text: undefined, cutOff: signal.aborted ? abortText(signal) : failureText(error) };
  }
}

function abortText(signal: AbortSignal): string {
  return signal.reason instanceof Error ? signal.reason.message : errorText(signal.reason);
}

/** A proxy that quotes the request in its error text must not bring the token into our rows. */
function withoutToken<Outcome extends object>(outcome: Outcome, token: string): Outcome {
  if (!('detail' in outcome) || typeof outcome.detail !== 'string') return outcome;
  if (token === '' || !outcome.detail.includes(token)) return outcome;
  return { ...outcome, detail: outcome.detail.replaceAll(token, '[token]') };
}
