import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Tickets } from '@dueline/contracts';
import { expect, onTestFinished, test } from 'vitest';
import { connectBroker, DONE, declareTopology, type Handler } from '../src/index.ts';
import { testVhost } from '../src/testing.ts';
import { createProxy } from './proxy.ts';
import { ordersQueue, TEST_QUEUES } from './queues.ts';
import { closeConnections, collect, idOf, messageOf, operator, recordingLog, setUp, until } from './support.ts';

type OrderHandler = Handler<Tickets>;

async function setUpBehindProxy() {
  const vhost = await testVhost({ queues: TEST_QUEUES });
  onTestFinished(() => vhost[Symbol.asyncDispose]());
  const proxy = await createProxy(vhost.url);
  const { log, lines } = recordingLog();
  const timing = { heartbeatSeconds: 1, publishTimeoutMs: 1_000, connectTimeoutMs: 1_000 };
  const broker = connectBroker({ url: proxy.url, appId: 'mq-test', log, queues: TEST_QUEUES, ...timing });
  onTestFinished(() => broker.close());
  await broker.ready();
  return { vhost, proxy, broker, lines };
}

test('behind a silent network publishes settle in time, and consuming goes on when it is back [SEM-093, SEM-094]', async () => {
  const { proxy, broker } = await setUpBehindProxy();
  const seen: number[] = [];
  broker.consume(ordersQueue, collect(seen, idOf), { concurrency: 2 });
  await broker.publish(ordersQueue, [messageOf(1)]);
  await until(() => seen.length === 1);
  proxy.freeze();
  const startedAt = performance.now();
  const results = await broker.publish(
    ordersQueue,
    Array.from({ length: 600 }, (_, at) => messageOf(at + 2)),
  );
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  expect(new Set(results.map((result) => (result.ok ? 'ok' : result.reason)))).toEqual(new Set(['timeout']));
  await until(() => broker.state() === 'connecting');
  expect(await broker.publish(ordersQueue, [messageOf(700)])).toEqual([{ ok: false, reason: 'not_connected' }]);
  proxy.thaw();
  await broker.ready();
  expect(await broker.publish(ordersQueue, [messageOf(800)])).toEqual([{ ok: true }]);
  await until(() => seen.includes(800));
});

test('while the broker is away a publish answers at once and nothing is kept for later', async () => {
  const { proxy, broker } = await setUpBehindProxy();
  proxy.cut();
  await until(() => broker.state() === 'connecting');
  const startedAt = performance.now();
  expect(await broker.publish(ordersQueue, [messageOf(1)])).toEqual([{ ok: false, reason: 'not_connected' }]);
  expect(performance.now() - startedAt).toBeLessThan(2_500);
  proxy.thaw();
  await broker.ready();
  const seen: number[] = [];
  broker.consume(ordersQueue, collect(seen, idOf), { concurrency: 1 });
  await broker.publish(ordersQueue, [messageOf(2)]);
  await broker.settled();
  expect(seen).toEqual([2]);
});

test('a publisher that the broker blocks fails fast and goes on when it is unblocked', async () => {
  const { proxy, broker } = await setUpBehindProxy();
  const method = (id: number, ...args: number[]) =>
    Buffer.from([1, 0, 0, 0, 0, 0, 4 + args.length, 0, 10, 0, id, ...args, 0xce]);
  proxy.inject(method(60, 3, ...Buffer.from('low'))); // connection.blocked, reason "low"
  await until(() => broker.state() === 'blocked');
  expect(await broker.publish(ordersQueue, [messageOf(1)])).toEqual([{ ok: false, reason: 'blocked' }]);
  proxy.inject(method(61)); // connection.unblocked
  await until(() => broker.state() === 'ready');
  expect(await broker.publish(ordersQueue, [messageOf(1)])).toEqual([{ ok: true }]);
});

test('connections closed by an operator are opened again and consuming goes on', async () => {
  const { broker, vhost, events } = await setUp();
  const seen: number[] = [];
  broker.consume(ordersQueue, collect(seen, idOf), { concurrency: 2 });
  await broker.publish(ordersQueue, [messageOf(1)]);
  await until(() => seen.length === 1);
  expect(broker.publishingLost()).toBe(0);
  await closeConnections(vhost, 2);
  await until(() => events.filter(({ type }) => type === 'disconnected').length === 2);
  await broker.ready();
  expect(broker.publishingLost()).toBe(1);
  expect(await broker.publish(ordersQueue, [messageOf(2)])).toEqual([{ ok: true }]);
  await until(() => seen.includes(2));
  expect(events.filter(({ type }) => type === 'connected')).toHaveLength(4);
});

test('a lost connection tells the running handler, and the message comes again with its count', async () => {
  const { broker, proxy } = await setUpBehindProxy();
  const counts: number[] = [];
  let told = false;
  const handler: OrderHandler = async ({ deliveryCount }, { signal }) => {
    counts.push(deliveryCount);
    if (deliveryCount > 0) return DONE;
    await once(signal, 'abort');
    told = true;
    return DONE;
  };
  broker.consume(ordersQueue, handler, { concurrency: 1 });
  await broker.publish(ordersQueue, [messageOf(1)]);
  await until(() => counts.length === 1);
  proxy.cut();
  proxy.thaw();
  await until(() => counts.length === 2);
  expect(counts).toEqual([0, 1]);
  expect(told).toBe(true);
  await broker.ready();
  await broker.settled();
});

test('a process that dies before it acknowledges leaves its message to others, marked as delivered before [SEM-074]', async () => {
  const { broker, vhost } = await setUp();
  await broker.publish(ordersQueue, [messageOf(9)]);
  const child = spawn(process.execPath, [fileURLToPath(new URL('crash-child.ts', import.meta.url)), vhost.url]);
  const [, signal] = await once(child, 'exit');
  expect(signal).toBe('SIGKILL');
  const seen: [number, number][] = [];
  const handler: OrderHandler = collect(seen, (message) => [idOf(message), message.deliveryCount]);
  broker.consume(ordersQueue, handler, { concurrency: 1 });
  await until(() => seen.length === 1);
  expect(seen).toEqual([[9, 1]]);
  await broker.settled();
});

test('a deleted queue turns the broker unready and is subscribed again once it is declared [SEM-096, SEM-097, SEM-098]', async () => {
  const { broker, vhost } = await setUp();
  const seen: number[] = [];
  broker.consume(ordersQueue, collect(seen, idOf), { concurrency: 1 });
  await broker.ready();
  const channel = await (await operator(vhost)).createChannel();
  await channel.deleteQueue('orders');
  await until(() => broker.problems().includes('queue orders is not subscribed'));
  expect(broker.state()).toBe('connecting');
  await declareTopology({ ...vhost, queues: TEST_QUEUES, log: recordingLog().log });
  await broker.ready();
  await broker.publish(ordersQueue, [messageOf(3)]);
  await until(() => seen.includes(3));
});

test('when the network breaks under load every publish is answered and what was confirmed is handled [SEM-095]', async () => {
  const { proxy, broker, vhost } = await setUpBehindProxy();
  const confirmed: number[] = [];
  const reasons = new Set<string>();
  const publishAll = async (from: number) => {
    for (let id = from; id < from + 1_500; id += 50) {
      const ids = Array.from({ length: 50 }, (_, at) => id + at);
      const results = await broker.publish(ordersQueue, ids.map(messageOf));
      expect(results).toHaveLength(ids.length);
      for (const [at, result] of results.entries()) {
        if (result.ok) confirmed.push(ids[at] ?? 0);
        else reasons.add(result.reason);
      }
    }
  };
  const seen = new Set<number>();
  const receiver = connectBroker({ url: vhost.url, appId: 'receiver', log: recordingLog().log, queues: TEST_QUEUES });
  onTestFinished(() => receiver.close());
  const note: OrderHandler = async (message) => {
    seen.add(idOf(message));
    return DONE;
  };
  receiver.consume(ordersQueue, note, { concurrency: 20 });
  const published = Promise.all([1, 10_001, 20_001, 30_001].map(publishAll));
  await until(() => confirmed.length > 500);
  proxy.cut();
  proxy.thaw();
  await published;
  await broker.ready();
  await receiver.ready();
  await receiver.settled();
  expect(reasons.has('channel_closed')).toBe(true);
  expect(reasons.isSubsetOf(new Set(['channel_closed', 'not_connected', 'timeout']))).toBe(true);
  expect(confirmed.filter((id) => !seen.has(id))).toEqual([]);
});

/** Class and method of AMQP's channel.close. */
const CHANNEL_CLOSE = Buffer.from([0, 20, 0, 40]);

test('a connection that is lost while the broker is asked to close a channel holds nothing up: it is dialled again, and the broker can be closed', async () => {
  const { proxy, broker } = await setUpBehindProxy();
  proxy.cutBefore(CHANNEL_CLOSE, 4); // behind the handshakes of both connections, twice
  proxy.cut();
  proxy.thaw();
  await until(() => broker.state() === 'connecting');
  await broker.ready();
  expect(await broker.publish(ordersQueue, [messageOf(1)])).toEqual([{ ok: true }]);
  await expect.poll(() => broker.waiting(ordersQueue)).toBe(1);

  proxy.cutBefore(CHANNEL_CLOSE, 1);
  expect([1, undefined]).toContain(await broker.waiting(ordersQueue)); // told before the cut, or its bytes were lost with it
  await broker.ready();
});

test('messages survive repeated losses of the consumer connection: every one is handled', async () => {
  const { proxy, broker, vhost } = await setUpBehindProxy();
  const ids = Array.from({ length: 400 }, (_, at) => at + 1);
  await broker.publish(ordersQueue, ids.map(messageOf));
  const seen = new Set<number>();
  const handler: OrderHandler = async (message) => {
    await new Promise((resolve) => setTimeout(resolve, 2));
    seen.add(idOf(message));
    return DONE;
  };
  broker.consume(ordersQueue, handler, { concurrency: 5 });
  for (const share of [50, 120, 200]) {
    await until(() => seen.size >= share);
    proxy.cut();
    proxy.thaw();
  }
  await until(() => seen.size === ids.length);
  await broker.ready();
  await broker.settled();
  const channel = await (await operator(vhost)).createChannel();
  expect((await channel.checkQueue('orders.dlq')).messageCount).toBe(0);
});
