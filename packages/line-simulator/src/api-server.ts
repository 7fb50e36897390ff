import { randomUUID } from 'node:crypto';
import { errorText } from '@dueline/kernel';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { compact } from './compact.ts';
import { ENDPOINTS } from './endpoints/list.ts';
import { type Answer, type Endpoint, failure, type RawBody, type Stage, type World } from './exchange.ts';
import type { Metrics } from './metrics.ts';
import { runPipeline } from './pipeline.ts';
import { collectBody } from './raw-body.ts';
import { createKeyGate, isRetryKey } from './retry-keys.ts';
import { type Operation, UNIMPLEMENTED } from './unimplemented.ts';

/** What is kept of a request from its head to its answer. */
interface Visit {
  readonly stage: Stage;
  readonly request: number;
  readonly requestId: string;
  readonly token: string | undefined;
  readonly retryKey: string | undefined;
  readonly turn: Promise<void> | undefined;
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

interface Api {
  readonly world: World;
  readonly metrics: Metrics;
}

interface Http {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** The listener that plays api.line.me. Every answer is JSON and carries x-line-request-id. */
export function createApiServer(api: Api): FastifyInstance {
  const unknownPath = (request: FastifyRequest, reply: FastifyReply) =>
    respond(api, { request, reply }, { answer: failure(404, 'Not found'), step: 'path' });
  const app = fastify({
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    keepAliveTimeout: KEEP_ALIVE_MS,
    frameworkErrors: (_error, request, reply) => void unknownPath(request, reply),
  });
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
    app.route({ method: endpoint.method, url: endpoint.path, handler: handlerOf(api, endpoint) });
  }
  for (const operation of UNIMPLEMENTED) {
    app.route({ method: operation.method, url: operation.path, handler: refuserOf(api, operation) });
  }
  app.setNotFoundHandler(unknownPath);
  app.setErrorHandler((error, request, reply) => respond(api, { request, reply }, errorAnswer(api, error)));
  return app;
}

function handlerOf(api: Api, endpoint: Endpoint) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const visit = visitOf(request);
    visit.endpoint = endpoint.key;
    if (visit.turn !== undefined) await visit.turn;
    const given = runPipeline({
      ...visit.stage,
      endpoint,
      request: visit.request,
      at: api.world.clock.now(),
      token: visit.token,
      contentType: request.headers['content-type'] ?? '',
      retryKey: visit.retryKey,
      params: request.params as Record<string, string | undefined>,
      query: request.query as Record<string, unknown>,
      rawBody: request.body as RawBody,
    });
    return respond(api, { request, reply }, given);
  };
}

function refuserOf({ world, metrics }: Api, { method, path }: Operation) {
  return (request: FastifyRequest, reply: FastifyReply) => {
    const { stage, request: number, token } = visitOf(request);
    stage.store.violations.push({
      code: 'V10',
      at: world.clock.now(),
      request: number,
      channelId: channelIdOf(stage, token, world.clock.now()),
      detail: `${method} ${path}`,
    });
    return respond(
      { world, metrics },
      { request, reply },
      { answer: failure(501, 'Not played by the simulator'), step: 'unimplemented' },
    );
  };
}

function respond({ metrics }: Api, { request, reply }: Http, given: { answer: Answer; step: string }): FastifyReply {
  const { visit } = request;
  const { status, body, acceptedRequestId } = given.answer;
  if (visit !== undefined) {
    const { requests } = visit.stage.store;
    requests.status.set(visit.request - 1, status);
    requests.step[visit.request - 1] = given.step;
    metrics.answered(visit.endpoint, status);
    visit.leave();
  }
  reply.code(status);
  reply.header('content-type', given.answer.contentType ?? 'application/json');
  reply.header('x-line-request-id', visit?.requestId ?? randomUUID());
  if (acceptedRequestId !== undefined) reply.header('x-line-accepted-request-id', acceptedRequestId);
  return reply.send(Buffer.isBuffer(body) ? body : JSON.stringify(body));
}

/** What HTTP itself refuses is the client's; anything else is ours, and must not pass for one of LINE's outages. */
function errorAnswer({ metrics }: Api, error: unknown): { answer: Answer; step: string } {
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
    const passage = guarded ? gate.enter(`${token}/${retryKey.toLowerCase()}`) : undefined;
    if (passage?.overlaps === true) {
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
      if (!request.raw.complete) leave();
    });
    const turn = passage?.turn;
    request.visit = { stage, request: number, requestId, token, retryKey, turn, endpoint: 'unknown', leave };
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
