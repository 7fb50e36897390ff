import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ServiceError } from '@dueline/kernel';
import { safeErrorText } from './describe-error.ts';
import type { Metrics } from './metrics.ts';
import { within } from './within.ts';

/** Resolves when the thing it is named after can be used; throws what is wrong otherwise. */
export type HealthCheck = () => Promise<unknown>;

export type HealthServer = {
  /** The port that was bound, also when 0 was asked for. */
  readonly port: number;
  /** From now on /readyz answers 503 with `stopping`. Call it first when a stop begins. */
  setStopping(): void;
  /** Ends the server; resolves when the port is free, within a second. */
  close(): Promise<void>;
};

export type HealthServerOptions = {
  readonly port: number;
  readonly host: string;
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
  /** Asked at each /readyz, all at once; each has one second. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
};

type Answer = { readonly status: number; readonly type?: string; readonly body: string };

const CHECK_TIMEOUT_MS = 1_000;
const CLOSE_GRACE_MS = 500;

/**
 * Serves `/livez` (200 while the event loop turns), `/readyz` (200, or 503 with each failing check and why) and
 * `/metrics`.
 *
 * @throws ServiceError when the port cannot be bound.
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  let stopping = false;
  const failures = readiness(options.checks);
  const routes = new Map<string, () => Promise<Answer>>([
    ['/livez', async () => json(200, { status: 'alive' })],
    ['/readyz', async () => (stopping ? json(503, { status: 'stopping' }) : readyAnswer(await failures()))],
    ['/metrics', async () => ({ status: 200, type: options.metrics.contentType, body: await options.metrics.text() })],
  ]);

  const server = createServer({ requestTimeout: 5_000, headersTimeout: 5_000 }, (request, response) => {
    void respond(routes, request, response);
  });
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    setStopping: () => {
      stopping = true;
    },
    close: () => close(server),
  };
}

/** Runs all checks. A check that hangs is not started again until it ends, so probes do not pile up behind it. */
function readiness(checks: HealthServerOptions['checks']): () => Promise<Record<string, string>> {
  const running = new Map<string, Promise<unknown>>();
  const once = (name: string, check: HealthCheck): Promise<unknown> => {
    const pending = running.get(name);
    if (pending !== undefined) return pending;
    const started = Promise.try(check).finally(() => running.delete(name));
    running.set(name, started);
    return started;
  };
  return async () => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]): Promise<[string, string] | undefined> => {
        try {
          await within(CHECK_TIMEOUT_MS, once(name, check));
          return undefined;
        } catch (error) {
          return [name, safeErrorText(error)];
        }
      }),
    );
    return Object.fromEntries(results.filter((result) => result !== undefined));
  };
}

function readyAnswer(failing: Record<string, string>): Answer {
  return Object.keys(failing).length === 0
    ? json(200, { status: 'ready' })
    : json(503, { status: 'not ready', failing });
}

function json(status: number, body: object): Answer {
  return { status, body: `${JSON.stringify(body)}\n` };
}

async function respond(
  routes: ReadonlyMap<string, () => Promise<Answer>>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { status, type = 'application/json', body } = await answer(routes, request);
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

async function answer(routes: ReadonlyMap<string, () => Promise<Answer>>, request: IncomingMessage): Promise<Answer> {
  const route = routes.get((request.url ?? '').split('?', 1)[0] ?? '');
  if (route === undefined) return json(404, { error: 'no such page', pages: [...routes.keys()] });
  if (request.method !== 'GET' && request.method !== 'HEAD') return json(405, { error: 'only GET and HEAD' });
  try {
    return await route();
  } catch (error) {
    return json(500, { error: safeErrorText(error) });
  }
}

async function listen(server: Server, { port, host }: { port: number; host: string }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen({ port, host }, resolve);
  try {
    await promise;
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    const message = taken
      ? 'the port for health and metrics is taken: set HTTP_PORT to another one, or to 0 for any free one'
      : 'cannot listen for health and metrics: check HTTP_HOST and HTTP_PORT';
    throw new ServiceError(message, { cause: error, context: { host, port } });
  }
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(timer);
}
