import type { Agenda } from '../agenda.ts';
import type { Channel, Channels } from '../channel/channels.ts';
import type { Limit } from '../channel/rate-limit.ts';
import type { KeyUse } from '../channel/retry-keys.ts';
import type { Clock } from '../clock.ts';
import type { Fields } from '../fields.ts';
import type { LedgerStore, Violation } from '../ledger/ledger-store.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { Problem } from './validation.ts';

/** What the simulator answers, before it becomes bytes. */
export interface Answer {
  readonly status: number;
  /** JSON, unless it is bytes of a content type. */
  readonly body: unknown;
  readonly contentType?: string;
  /** Only on a 409. */
  readonly acceptedRequestId?: string;
  /** Goes out as it is instead of `body`. */
  readonly text?: string;
  /** The answer of a proxy, which does not know LINE's own headers. */
  readonly proxyHeaders?: Readonly<Record<string, string>>;
}

/** Where a redirect leads. It answers like LINE, and sends nothing. */
export const REDIRECT_TARGET = '/redirected';

/** A send that passed validation. */
interface SendPlan {
  readonly messages: readonly unknown[];
  readonly targets: Iterable<number>;
  readonly requested: number;
  readonly deliverable: number;
  /** Who of the targets receives; friends, unless given. */
  readonly receives?: (user: number) => boolean;
}

export type RawBody = Buffer | 'tooLarge' | undefined;

/** One request on its way through the steps; each step adds what it found. */
export interface Exchange {
  readonly endpoint: Endpoint;
  readonly channels: Channels;
  readonly store: LedgerStore;
  readonly agenda: Agenda;
  /** Number in the ledger. */
  readonly request: number;
  /** When its turn came, by the simulator's clock. */
  readonly at: number;
  readonly token: string | undefined;
  readonly contentType: string;
  readonly retryKey: string | undefined;
  /** Other requests that were under way with the same key while this one was. */
  readonly peers: ReadonlySet<number>;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly rawBody: RawBody;
  channel?: Channel;
  body?: Fields;
  keyUse?: KeyUse;
  send?: SendPlan;
  /** LINE answers as ever and does nothing. */
  hollow?: boolean;
}

/** Channels, what happened on them and what is still to happen; a reset replaces all at once. */
export interface Stage {
  readonly channels: Channels;
  readonly store: LedgerStore;
  readonly agenda: Agenda;
  readonly webhooks: Webhooks;
}

export interface World {
  readonly clock: Clock;
  /** The stage of now. A request keeps the one it arrived on. */
  stage(): Stage;
}

/** An operation of the Messaging API as data. */
export interface Endpoint {
  /** Short name; limits and metrics go by it. */
  readonly key: string;
  readonly method: 'GET' | 'POST' | 'DELETE' | 'PUT';
  /** Template, a parameter as `:name`. */
  readonly path: string;
  readonly limit: Limit;
  /** A send: takes a retry key, counts against the quota, and is written as an accept. */
  readonly isSend: boolean;
  /** Not counted against the quota. */
  readonly isFree?: true;
  readonly body: 'none' | 'json' | 'form' | 'image';
  /** Finds the channel where no bearer token does: for requests that ask for one. */
  identify?(exchange: Exchange): Answer | undefined;
  /** 400s and 404s of this endpoint; a send leaves its plan in the exchange. */
  validate?(exchange: Exchange): Answer | undefined;
  /** The answer to a request that passed every step. */
  answer(exchange: Exchange): Answer;
}

export function failure(status: number, message: string): Answer {
  return { status, body: { message } };
}

export const INVALID_TOKEN = failure(401, 'Authentication failed due to the following reason: invalid token');
export const RATE_LIMITED = failure(429, 'The API rate limit has been exceeded. Try again later.');

export function headersOf(answer: Answer, requestId: string): Readonly<Record<string, string>> {
  if (answer.proxyHeaders !== undefined) return answer.proxyHeaders;
  const headers = { 'content-type': answer.contentType ?? 'application/json', 'x-line-request-id': requestId };
  const { acceptedRequestId } = answer;
  return acceptedRequestId === undefined ? headers : { ...headers, 'x-line-accepted-request-id': acceptedRequestId };
}

export function payloadOf({ text, body }: Answer): string | Buffer {
  return text ?? (Buffer.isBuffer(body) ? body : JSON.stringify(body));
}

export function badBody(problems: readonly Problem[]): Answer {
  return { status: 400, body: { message: `The request body has ${problems.length} error(s)`, details: problems } };
}

/** The channel, for all that runs after the bearer step. */
export function channelOf(exchange: Exchange): Channel {
  if (exchange.channel === undefined) throw new Error('the step runs before the bearer token is checked');
  return exchange.channel;
}

export function requestIdOf({ store, request }: Exchange): string {
  return store.requests.requestId[request - 1] ?? '';
}

export function violate(exchange: Exchange, violation: Pick<Violation, 'code' | 'user' | 'lid' | 'detail'>): void {
  exchange.store.violations.push({
    ...violation,
    at: exchange.at,
    request: exchange.request,
    channelId: exchange.channel?.settings.channelId,
  });
}
