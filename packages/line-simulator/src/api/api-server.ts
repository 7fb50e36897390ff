import { randomUUID } from 'node:crypto';
import { errorText } from '@dueline/kernel';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { createKeyGate, isRetryKey, isSerial } from '../channel/retry-keys.ts';
import { compact } from '../compact.ts';
import type { FaultEngine } from '../faults/engine.ts';
import { createListenerFault, type ListenerFault } from '../faults/listener.ts';
import { type FaultedRequest, playFault } from '../faults/play.ts';
import type { Violation } from '../ledger/ledger-store.ts';
import type { Metrics } from '../metrics.ts';
import { ENDPOINTS } from './endpoints/list.ts';
import {
  type Endpoint,
  type Exchange,
  failure,
  headersOf,
  payloadOf,
  type RawBody,
  REDIRECT_TARGET,
  type Stage,
  type World,
} from './exchange.ts';
import { type Outcome, runArrival, runChecks } from './pipeline.ts';
import { collectBody } from './raw-body.ts';
import { type Operation, UNIMPLEMENTED } from './unimplemented.ts';

/** What is kept of a request from its head to its answer. */
interface Visit {
  readonly stage: Stage;
  readonly request: number;
  readonly requestId: string;
  readonly token: string | undefined;
  readonly retryKey: string | undefined;
  readonly turn: Promise<void> | undefined;
  readonly peers: ReadonlySet<number>;
  /** The endpoint, once it is known; metrics go by it. */
  endpoint: string;
  leave(): void;
}

declare module 'fastify' {
  interface FastifyRequest {
    visit: Visit | undefined;
  }
}

const SEND_PATHS: ReadonlySet<string> = new Set(ENDPOINTS.filter(({ isSend }) => isSend).map(({ path }) => path));
const KEEP_ALIVE_MS = 72_000;
const NOBODY: ReadonlySet<number> = new Set();

interface Api {
  readonly world: World;
  readonly metrics: Metrics;
  readonly faults: FaultEngine;
}

type FaultyApi = Api & { readonly listener: ListenerFault };

interface Http {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** The listener that plays api.line.me. Every answer is JSON and carries x-line-request-id, unless a fault spoils it. */
export function createApiServer(api: Api): { api: FastifyInstance; listener: ListenerFault } {
  const unknownPath = (request: FastifyRequest, reply: FastifyReply) =>
    respond(api, { request, reply }, { answer: failure(404, 'Not found'), step: 'path' });
  const app = fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    keepAliveTimeout: KEEP_ALIVE_MS,
    frameworkErrors: (_error, request, reply) => void unknownPath(request, reply),
  });
  const listener = createListenerFault(app.server);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', collectBody);
  app.decorateRequest('visit', undefined);

  const receive = createReception(api);
  app.addHook('onRequest', (request, reply, done) => {
    receive(request);
    const path = pathOf(request);
    // LINE warns of inexact paths; a router that forgives them would hide ours.
    if (path.includes('//') || path.endsWith('/')) unknownPath(request, reply);
    else done();
  });
  for (const endpoint of ENDPOINTS) {
    app.route({ method: endpoint.method, url: endpoint.path, handler: handlerOf({ ...api, listener }, endpoint) });
  }
  app.all(REDIRECT_TARGET, (request, reply) => {
    note(api, request, { code: 'V7', detail: request.method });
    return respond(api, { request, reply }, { answer: { status: 200, body: {} }, step: 'redirected' });
  });
  for (const operation of UNIMPLEMENTED) {
    app.route({ method: operation.method, url: operation.path, handler: refuserOf(api, operation) });
  }
  app.setNotFoundHandler(unknownPath);
  app.setErrorHandler((error, request, reply) => respond(api, { request, reply }, errorAnswer(api, error)));
  return { api: app, listener };
}

function handlerOf(api: FaultyApi, endpoint: Endpoint) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const visit = visitOf(request);
    visit.endpoint = endpoint.key;
    const { channels } = visit.stage;
    if (visit.turn !== undefined && isSerial(channels.byToken(visit.token ?? '', api.world.clock.now())))
      await visit.turn;
    const exchange: Exchange = {
      ...visit.stage,
      ...{ endpoint, peers: visit.peers },
      request: visit.request,
      at: api.world.clock.now(),
      token: visit.token,
      contentType: request.headers['content-type'] ?? '',
      retryKey: visit.retryKey,
      params: request.params as Record<string, string | undefined>,
      query: request.query as Record<string, unknown>,
      rawBody: request.body as RawBody,
    };
    const arrived = runArrival(exchange);
    const fault = api.faults.decide(exchange, arrived !== undefined, request.raw.socket);
    if (fault === undefined) return respond(api, { request, reply }, arrived ?? runChecks(exchange));
    await playFault(fault, faultedRequest(api, { request, reply }, { exchange, arrived }));
    return reply;
  };
}

function faultedRequest(
  api: FaultyApi,
  http: Http,
  given: Pick<FaultedRequest, 'exchange' | 'arrived'>,
): FaultedRequest {
  const { request, reply } = http;
  return {
    ...given,
    socket: request.raw.socket,
    requestId: visitOf(request).requestId,
    listener: api.listener,
    now: api.world.clock.now,
    respond: (outcome) => void respond(api, http, outcome),
    takeOver: () => void reply.hijack(),
    end: (status, step) => endVisit(api, request, { status, step }),
  };
}

function refuserOf(api: Api, { method, path }: Operation) {
  return (request: FastifyRequest, reply: FastifyReply) => {
    note(api, request, { code: 'V10', detail: `${method} ${path}` });
    const answer = failure(501, 'Not played by the simulator');
    return respond(api, { request, reply }, { answer, step: 'unimplemented' });
  };
}

/** Writes a violation of a request that belongs to no operation that is played. */
function note({ world }: Api, request: FastifyRequest, violation: Pick<Violation, 'code' | 'detail'>): void {
  const { stage, request: number, token } = visitOf(request);
  const channelId = channelIdOf(stage, token, world.clock.now());
  stage.store.violations.push({ ...violation, at: world.clock.now(), request: number, channelId });
}

function respond(api: Api, { request, reply }: Http, { answer, step }: Outcome): FastifyReply {
  endVisit(api, request, { status: answer.status, step });
  reply.code(answer.status);
  reply.headers(headersOf(answer, request.visit?.requestId ?? randomUUID()));
  return reply.send(payloadOf(answer));
}

/** What is left of a request in the ledger, whether its answer reaches the client or not. */
function endVisit(
  { metrics }: Api,
  { visit, raw }: FastifyRequest,
  { status, step }: { status: number | undefined; step: string },
): void {
  if (visit === undefined) return;
  const { requests } = visit.stage.store;
  requests.step[visit.request - 1] = step;
  if (!raw.socket.writable) requests.aborted.add(visit.request);
  if (status !== undefined) {
    requests.status.set(visit.request - 1, status);
    metrics.answered(visit.endpoint, status);
  }
  visit.leave();
}

/** What HTTP itself refuses is the client's; anything else is ours, and must not pass for one of LINE's outages. */
function errorAnswer({ metrics }: Api, error: unknown): Outcome {
  if (isClientError(error)) return { answer: failure(error.statusCode, error.message), step: 'http' };
  metrics.internalError();
  return { answer: failure(500, `Fault in the simulator: ${errorText(error)}`), step: 'internal' };
}

/** Takes note of a request as soon as its head is there, so that overlaps are seen even while a body is on its way. */
function createReception({ world, metrics }: Api) {
  const gate = createKeyGate();
  return (request: FastifyRequest): void => {
    const header = request.headers['x-line-retry-key'];
    const retryKey = typeof header === 'string' ? header : undefined;
    const path = pathOf(request);
    const token = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const requestId = compact(randomUUID());
    const stage = world.stage();
    const { store } = stage;
    const at = world.clock.now();
    const number = store.requests.arrive({ at, method: request.method, path, requestId, retryKey });
    const guarded = retryKey !== undefined && isRetryKey(retryKey) && SEND_PATHS.has(path);
    const passage = guarded ? gate.enter(`${token}/${retryKey.toLowerCase()}`, number) : undefined;
    if (passage?.turn !== undefined) {
      store.violations.push({ code: 'V3', at, request: number, channelId: channelIdOf(stage, token, at) });
    }
    metrics.begin();
    let left = false;
    const leave = () => {
      if (left) return;
      left = true;
      metrics.end();
      passage?.leave();
    };
    // A client that goes away before its body is complete must not hold up the next request with its key; one that goes
    // away later is served to the end, as LINE does.
    request.raw.once('error', () => {
      if (request.raw.complete) return;
      store.requests.aborted.add(number);
      leave();
    });
    const { turn, peers = NOBODY } = passage ?? {};
    request.visit = { stage, request: number, requestId, token, retryKey, turn, peers, endpoint: 'unknown', leave };
  };
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '';
}

function channelIdOf({ channels }: Stage, token: string | undefined, at: number): string | undefined {
  return token === undefined ? undefined : channels.byToken(token, at)?.settings.channelId;
}

function visitOf(request: FastifyRequest): Visit {
  if (request.visit === undefined) throw new Error('the request was not received');
  return request.visit;
}

function isClientError(error: unknown): error is Error & { statusCode: number } {
  if (!(error instanceof Error) || !('statusCode' in error)) return false;
  return typeof error.statusCode === 'number' && error.statusCode >= 400 && error.statusCode < 500;
}
