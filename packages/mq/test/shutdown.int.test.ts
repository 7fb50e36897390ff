import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { connectBroker, DONE } from '../src/index.ts';
import { ordersQueue, TEST_QUEUES } from './queues.ts';
import { collect, idOf, messageOf, recordingLog, type Setup, setUp, until } from './support.ts';

async function secondBroker({ vhost }: Setup) {
  const broker = connectBroker({ url: vhost.url, appId: 'second', log: recordingLog().log, queues: TEST_QUEUES });
  onTestFinished(() => broker.close());
  await broker.ready();
  return broker;
}

test('a drain lets running handlers finish and leaves the rest to others; nothing is handled twice [SEM-059]', async () => {
  const first = await setUp();
  const handled: { id: number; by: string; deliveryCount: number }[] = [];
  const gate = Promise.withResolvers<void>();
  let started = 0;
  const consumer = first.broker.consume(
    ordersQueue,
    async (message) => {
      started++;
      await gate.promise;
      handled.push({ id: idOf(message), by: 'first', deliveryCount: message.deliveryCount });
      return DONE;
    },
    { concurrency: 3 },
  );
  await first.broker.publish(
    ordersQueue,
    Array.from({ length: 30 }, (_, at) => messageOf(at + 1)),
  );
  await until(() => started === 3);
  const drained = consumer.drain();
  const second = await secondBroker(first);
  second.consume(
    ordersQueue,
    async (message) => {
      handled.push({ id: idOf(message), by: 'second', deliveryCount: message.deliveryCount });
      return DONE;
    },
    { concurrency: 3 },
  );
  await until(() => handled.length === 27);
  gate.resolve();
  await drained;
  await first.broker.close();
  await second.settled();
  expect(handled.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, at) => at + 1));
  expect(handled.filter(({ by }) => by === 'first')).toHaveLength(3);
  expect(handled.every(({ deliveryCount }) => deliveryCount === 0)).toBe(true);
});

test('a handler that is not finished after the grace is told so, and its message goes back [SEM-075]', async () => {
  const first = await setUp();
  let started = false;
  let told = false;
  const consumer = first.broker.consume(
    ordersQueue,
    async (_message, { signal }) => {
      started = true;
      await once(signal, 'abort');
      told = true;
      throw new Error('stopped');
    },
    { concurrency: 1 },
  );
  await first.broker.publish(ordersQueue, [messageOf(4)]);
  await until(() => started);
  await consumer.drain(50);
  expect(told).toBe(true);
  await first.broker.close();
  expect(first.broker.state()).toBe('closed');
  const second = await secondBroker(first);
  const seen: number[] = [];
  second.consume(ordersQueue, collect(seen, idOf), { concurrency: 1 });
  await until(() => seen.length === 1);
  expect(seen).toEqual([4]);
  await second.settled();
});

test('closing waits for the confirms that are under way and refuses what comes after', async () => {
  const { broker } = await setUp();
  const underWay = broker.publish(
    ordersQueue,
    Array.from({ length: 1_000 }, (_, at) => messageOf(at + 1)),
  );
  const closed = broker.close();
  expect((await underWay).every((result) => result.ok)).toBe(true);
  await closed;
  expect(await broker.publish(ordersQueue, [messageOf(1)])).toEqual([{ ok: false, reason: 'not_connected' }]);
  await expect(broker.ready()).rejects.toThrow('broker is closed');
});

test('closing ends in time although the broker cannot be reached', async () => {
  const broker = connectBroker({ url: 'amqp://127.0.0.1:1/', appId: 'alone', log: recordingLog().log });
  const consumer = broker.consume(ordersQueue, async () => DONE, { concurrency: 1 });
  expect(broker.state()).toBe('connecting');
  expect(broker.problems()).toContain('publish connection is down');
  await consumer.drain();
  await broker.close();
  expect(broker.state()).toBe('closed');
});
