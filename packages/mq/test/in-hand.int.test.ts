import { expect, test } from 'vitest';
import { DONE } from '../src/index.ts';
import { ordersQueue } from './queues.ts';
import { eventually, messageOf, setUp } from './support.ts';

test('a process tells which queues it consumes, what it has in hand of each, and how long publishes and messages took', async () => {
  const { broker, events } = await setUp();
  const release = Promise.withResolvers<void>();
  const handler = async () => {
    await release.promise;
    return DONE;
  };
  const consumer = broker.consume(ordersQueue, handler, { concurrency: 2 });
  expect(events).toContainEqual({ type: 'consuming', queue: ordersQueue.name });

  await broker.publish(ordersQueue, [messageOf(1)]);
  const held = await eventually(() => broker.inHand().consumers.find(({ messages }) => messages === 1));
  expect(held).toEqual({ queue: ordersQueue.name, isSubscribed: true, messages: 1 });
  expect(broker.inHand().unconfirmed).toBe(0);

  release.resolve();
  await broker.settled();
  expect(events).toContainEqual({ type: 'published', queue: ordersQueue.name, result: 'ok', ms: expect.any(Number) });
  const consumed = { type: 'consumed', queue: ordersQueue.name, result: 'done', ms: expect.any(Number) };
  expect(events).toContainEqual({ ...consumed, waitedMs: expect.any(Number) });

  await consumer.drain();
  expect(broker.inHand().consumers).toEqual([]);
});
