import { afterEach, expect, test, vi } from 'vitest';
import { createMetrics, type HealthServer, type HealthServerOptions, startHealthServer } from '../src/index.ts';

const open: HealthServer[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function start(given: Partial<HealthServerOptions> = {}): Promise<{ server: HealthServer; url: string }> {
  const metrics = createMetrics({ service: 'worker' });
  const server = await startHealthServer({ port: 0, host: '127.0.0.1', metrics, checks: {}, ...given });
  open.push(server);
  return { server, url: `http://127.0.0.1:${server.port}` };
}

test('a process whose checks pass is alive and ready', async () => {
  const { url } = await start({ checks: { database: async () => {} } });

  const live = await fetch(`${url}/livez`);
  const ready = await fetch(`${url}/readyz?verbose`);

  expect(live.status).toBe(200);
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready' }]);
});

test('readyz names each failing check and why, and livez does not care', async () => {
  const failed = Object.assign(new Error('params: U-private'), {
    params: ['U-private'],
    cause: new Error('gone away'),
  });
  const { url } = await start({
    checks: {
      database: async () => Promise.reject(failed),
      broker: () => {
        throw new Error('blocked');
      },
      schema: async () => {},
    },
  });

  const ready = await fetch(`${url}/readyz`);

  expect(ready.status).toBe(503);
  expect(await ready.json()).toEqual({
    status: 'not ready',
    failing: { database: 'Error: gone away', broker: 'Error: blocked' },
  });
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});

test('a check that hangs fails after a second and is not started again behind itself', async () => {
  let started = 0;
  const hang = Promise.withResolvers<void>();
  const { url } = await start({
    checks: {
      database: () => {
        started += 1;
        return hang.promise;
      },
    },
  });

  const answers = await Promise.all([fetch(`${url}/readyz`), fetch(`${url}/readyz`)]);

  expect(answers.map((answer) => answer.status)).toEqual([503, 503]);
  expect(await answers[0]?.json()).toMatchObject({ failing: { database: 'TransientError: no answer in time' } });
  expect(started).toBe(1);
  hang.resolve();
  await vi.waitFor(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200), 15_000);
});

test('a process that is stopping is alive but not ready', async () => {
  const { server, url } = await start();

  server.setStopping();

  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([503, { status: 'stopping' }]);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});

test('HEAD, unknown pages and other methods are answered as HTTP says', async () => {
  const { url } = await start();

  const head = await fetch(`${url}/livez`, { method: 'HEAD' });
  const unknown = await fetch(`${url}/nothing`);
  const post = await fetch(`${url}/livez`, { method: 'POST', body: 'x' });

  expect([head.status, await head.text(), head.headers.get('content-length')]).toEqual([200, '', '19']);
  expect(unknown.status).toBe(404);
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
});

test('a port that is taken is a clear error', async () => {
  const { server } = await start();

  await expect(start({ port: server.port })).rejects.toThrow(/port .* is taken: set HTTP_PORT/);
});

test('the port is free once close has ended', async () => {
  const { server } = await start();
  await fetch(`http://127.0.0.1:${server.port}/livez`);

  await server.close();

  const again = await start({ port: server.port });
  expect(again.server.port).toBe(server.port);
});

test('metrics are served with their help, and the service as a label', async () => {
  const metrics = createMetrics({ service: 'worker' });
  metrics.counter({ name: 'dueline_things_total', help: 'Things.', labels: ['result'] }).inc({ result: 'ok' });
  metrics.histogram({ name: 'dueline_wait_seconds', help: 'Waits.', buckets: [0.1, 1] }).observe(0.5);
  metrics.gauge({ name: 'dueline_depth', help: 'Depth.', collect: async (gauge) => gauge.set(7) });
  const { url } = await start({ metrics });

  const answer = await fetch(`${url}/metrics`);
  const text = await answer.text();

  expect(answer.headers.get('content-type')).toContain('text/plain');
  expect(text).toContain('# HELP dueline_things_total Things.');
  expect(text).toContain('dueline_things_total{result="ok",service="worker"} 1');
  expect(text).toContain('dueline_wait_seconds_bucket{le="1",service="worker"} 1');
  expect(text).toContain('dueline_depth{service="worker"} 7');
  expect(text).toContain('nodejs_eventloop_lag_seconds{service="worker"}');
});

test('the metrics tell which version runs', async () => {
  const { text } = createMetrics({ service: 'worker', version: '1.2.3' });
  expect(await text()).toContain('dueline_build_info{version="1.2.3",service="worker"} 1');
});

test('a gauge that cannot be read is left out and counted, the others are served', async () => {
  const metrics = createMetrics({ service: 'worker' });
  let away = false;
  const collect = (gauge: { set(value: number): void }): void => {
    if (away) throw new Error('the database is away');
    gauge.set(3);
  };
  metrics.gauge({ name: 'dueline_depth', help: 'Depth.', collect });
  expect(await metrics.text()).toContain('dueline_depth{service="worker"} 3');

  away = true;
  await metrics.text();
  const text = await metrics.text();

  expect(text).not.toContain('dueline_depth{');
  expect(text).toMatch(/dueline_metric_collect_errors_total\{metric="dueline_depth",service="worker"\} [12]/);
  expect(text).toContain('process_cpu_seconds_total');
});
