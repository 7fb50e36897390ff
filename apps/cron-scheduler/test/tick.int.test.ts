import { connect, createServer, type Socket } from 'node:net';
import { processCampaign } from '@dueline/contracts';
import { testDb } from '@dueline/db/testing';
import type { Broker } from '@dueline/mq';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { tickCampaigns } from '../src/tick-campaigns.ts';
import { createTickKey } from '../src/tick-key.ts';

const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() } as unknown as Parameters<
  typeof createTickKey
>[0]['log'];

let redisDatabases = 0;

/** A database of Redis that no other test here uses: the key of this minute may be there. */
const redisUrl = () => {
  redisDatabases += 1;
  const url = new URL(inject('redisUrl'));
  url.pathname = `/${redisDatabases}`;
  return url.href;
};

/** A scheduler's tick on this Redis; what it published is counted. */
async function scheduler(url: string, publish?: Broker['publish']) {
  const database = await testDb();
  const { firstOf, close } = createTickKey({ url, log });
  onTestFinished(async () => {
    close();
    await database[Symbol.asyncDispose]();
  });
  const published: string[] = [];
  const confirm: Broker['publish'] = async (queue, messages) => {
    published.push(queue.name);
    return messages.map(() => ({ ok: true }) as const);
  };
  const tick = tickCampaigns({
    db: database.db,
    broker: { publish: publish ?? confirm },
    firstOf,
    intervalSeconds: 60,
    onTick: () => undefined,
  });
  return { tick, published, firstOf };
}

const connected = (firstOf: (key: string, ttlMs: number) => Promise<boolean>) =>
  expect
    .poll(async () => {
      const key = `probe:${crypto.randomUUID()}`;
      await firstOf(key, 1_000);
      return firstOf(key, 1_000);
    })
    .toBe(false);

/** A server that takes connections and never answers. */
async function hangingServer(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `redis://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

/** Forwards to Redis until it is frozen; then it takes everything and answers nothing. */
async function freezableProxy(target: string): Promise<{ url: string; freeze: () => void }> {
  const url = new URL(target);
  const { hostname, port } = url;
  const pairs: Socket[][] = [];
  const server = createServer((client) => {
    const redis = connect(Number(port), hostname);
    pairs.push([client.on('error', () => undefined), redis.on('error', () => undefined)]);
    client.pipe(redis).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of pairs.flat()) socket.destroy();
    server.close();
  });
  const address = server.address();
  url.host = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  return {
    url: url.href,
    freeze: () => {
      for (const [client, redis] of pairs) redis?.unpipe(client);
    },
  };
}

test('of two schedulers that look many times in a minute one publishes one tick', async () => {
  const url = redisUrl();
  const [one, two] = [await scheduler(url), await scheduler(url)];
  await connected(one.firstOf);
  await connected(two.firstOf);
  // a minute that turns in the middle of the test has a tick of its own
  const minutes = new Set<number>();
  for (let look = 0; look < 5; look += 1) {
    minutes.add(Math.floor(Date.now() / 60_000));
    await Promise.all([one.tick(), two.tick()]);
    minutes.add(Math.floor(Date.now() / 60_000));
  }
  const ticks = [...one.published, ...two.published];
  expect(ticks.length).toBeGreaterThanOrEqual(1);
  expect(ticks.length).toBeLessThanOrEqual(minutes.size);
  expect(ticks[0]).toBe(processCampaign.name);
});

test('of two schedulers that ask at once exactly one is first in each of 500 minutes, and nobody frees a key that another holds [SEM-082]', async () => {
  const url = redisUrl();
  const [one, two] = [await scheduler(url), await scheduler(url)];
  await connected(one.firstOf);
  await connected(two.firstOf);
  const keys = Array.from({ length: 500 }, (_, minute) => `minute:${crypto.randomUUID()}:${minute}`);
  for (const key of keys) {
    const firsts = await Promise.all([one, two].map(({ firstOf }) => firstOf(key, 55_000)));
    expect(firsts.filter((isFirst) => isFirst)).toHaveLength(1);
  }
  for (const key of keys.slice(0, 20)) expect(await two.firstOf(key, 55_000)).toBe(false);
}, 30_000);

test.for(['refuses', 'hangs'])('while Redis %s every scheduler ticks, within a second [SEM-084]', async (how) => {
  const url = how === 'hangs' ? await hangingServer() : 'redis://127.0.0.1:1';
  const [one, two] = [await scheduler(url), await scheduler(url)];
  const begin = performance.now();
  await Promise.all([one.tick(), two.tick()]);
  expect(performance.now() - begin).toBeLessThan(1_000);
  expect([one.published.length, two.published.length]).toEqual([1, 1]);
});

test('a Redis that stops answering after it was connected delays a tick by less than a second', async () => {
  const proxy = await freezableProxy(redisUrl());
  const { tick, published, firstOf } = await scheduler(proxy.url);
  await connected(firstOf);
  proxy.freeze();
  const begin = performance.now();
  await tick();
  expect(performance.now() - begin).toBeLessThan(1_000);
  expect(published).toHaveLength(1);
});

test('a tick that the broker did not confirm is published at the next look, though its key is taken', async () => {
  const refused: Broker['publish'] = async (_queue, messages) =>
    messages.map(() => ({ ok: calls.push(1) > 2 }) as Awaited<ReturnType<Broker['publish']>>[number]);
  const calls: number[] = [];
  const { tick } = await scheduler(redisUrl(), refused);
  for (let look = 0; look < 5; look += 1) await tick();
  expect(calls.length).toBeGreaterThanOrEqual(3);
  expect(calls.length).toBeLessThanOrEqual(4); // one more if the minute turned
});
