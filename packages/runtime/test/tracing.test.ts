import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createLog, currentTraceparent, startTracing, withSpan } from '../src/index.ts';

type ExportedSpan = {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly events: readonly { readonly name: string }[];
};

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function startCollector(status = 200) {
  const paths: string[] = [];
  const spans: ExportedSpan[] = [];
  const resources: unknown[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const data of request) body += data;
    paths.push(request.url ?? '');
    for (const group of JSON.parse(body).resourceSpans) {
      resources.push(...group.resource.attributes);
      for (const scope of group.scopeSpans) spans.push(...scope.spans);
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const find = (name: string): ExportedSpan | undefined => spans.find((span) => span.name === name);
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths, spans, resources, find };
}

function testLog() {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  return { log: createLog({ service: 't', level: 'info', instance: 't', destination }), lines };
}

test('without an endpoint spans are free of effect and results pass through', async () => {
  const stop = await startTracing({ service: 'worker', instance: 'one' });

  const seen = await withSpan('work', { parent: PARENT, links: [PARENT] }, () => currentTraceparent());
  const failed = withSpan('work', {}, () => Promise.reject(new Error('no')));

  expect(seen).toBeUndefined();
  await expect(failed).rejects.toThrow('no');
  await stop();
});

test('spans reach the collector with parent, links, kind, attributes and the name of the service', async () => {
  const collector = await startCollector();
  const stop = await startTracing({ service: 'worker', endpoint: `${collector.endpoint}/`, instance: 'one' });

  let inside: string | undefined;
  await withSpan('process queue', { parent: PARENT, kind: 'consumer', attributes: { 'dueline.attempt': 2 } }, () =>
    withSpan('decide', { links: [PARENT, 'not a traceparent'] }, () => {
      inside = currentTraceparent();
    }),
  );
  await stop();

  const outer = collector.find('process queue');
  const inner = collector.find('decide');
  expect(collector.paths).toEqual(['/v1/traces']);
  expect(outer).toMatchObject({ traceId: PARENT.split('-')[1], parentSpanId: PARENT.split('-')[2], kind: 5 });
  expect(outer?.attributes).toContainEqual({ key: 'dueline.attempt', value: { intValue: 2 } });
  expect(inner).toMatchObject({ traceId: outer?.traceId, parentSpanId: outer?.spanId });
  expect(inner?.links).toHaveLength(1);
  expect(inner?.links?.[0]).toMatchObject({ traceId: PARENT.split('-')[1], spanId: PARENT.split('-')[2] });
  expect(inside).toBe(`00-${inner?.traceId}-${inner?.spanId}-01`);
  expect(collector.resources).toContainEqual({ key: 'service.name', value: { stringValue: 'worker' } });
  expect(collector.resources).toContainEqual({ key: 'service.instance.id', value: { stringValue: 'one' } });
});

test('an error is recorded on the span without SQL parameters and thrown on', async () => {
  const collector = await startCollector();
  const stop = await startTracing({ service: 'worker', endpoint: collector.endpoint, instance: 'one' });
  const error = Object.assign(new Error('params: U-private'), {
    params: ['U-private'],
    cause: new Error('deadlock detected'),
  });

  const failed = withSpan('decide', {}, () => {
    throw error;
  });

  await expect(failed).rejects.toBe(error);
  await stop();
  const span = collector.find('decide');
  expect(span?.status).toEqual({ code: 2, message: 'Error: deadlock detected' });
  expect(span?.events.map((event) => event.name)).toEqual(['exception']);
  expect(JSON.stringify(span)).not.toContain('U-private');
});

test('log lines inside a span carry its ids', async () => {
  const collector = await startCollector();
  const stop = await startTracing({ service: 'worker', endpoint: collector.endpoint, instance: 'one' });
  const { log, lines } = testLog();

  log.info('before');
  await withSpan('work', {}, () => log.info('inside'));
  await stop();

  const span = collector.find('work');
  expect(lines[0]).not.toHaveProperty('trace_id');
  expect(lines[1]).toMatchObject({ trace_id: span?.traceId, span_id: span?.spanId });
});

test('a collector that is away is told once, and stop still ends within its time', async () => {
  const collector = await startCollector(400);
  const { log, lines } = testLog();
  const stop = await startTracing({ service: 'worker', endpoint: collector.endpoint, instance: 'one', log });
  await withSpan('work', {}, () => {});
  const startedAt = performance.now();

  await stop();

  expect(performance.now() - startedAt).toBeLessThan(2_500);
  expect(lines.map((line) => line.msg)).toEqual([
    'the collector does not take spans',
    'the last spans could not be sent',
  ]);
});

test('a collector that hangs does not hold up the stop for more than two seconds', async () => {
  const sockets = createServer(() => {});
  await new Promise<void>((resolve) => {
    sockets.listen(0, '127.0.0.1', resolve);
  });
  closers.push(async () => {
    sockets.closeAllConnections();
    await new Promise((resolve) => sockets.close(resolve));
  });
  const endpoint = `http://127.0.0.1:${(sockets.address() as AddressInfo).port}`;
  const stop = await startTracing({ service: 'worker', endpoint, instance: 'one' });
  await withSpan('work', {}, () => {});
  const startedAt = performance.now();

  await stop();

  expect(performance.now() - startedAt).toBeLessThan(2_500);
});
