import type { Tickets } from '@dueline/contracts';
import { expect, test } from 'vitest';
import { DONE, type OutgoingMessage } from '../src/index.ts';
import { ordersQueue } from './queues.ts';
import { eventually, idOf, messageOf, operator, setUp, TENANT, ticketOf, until } from './support.ts';

/** A full message, some kilobytes. */
const largeMessage = (id: number): OutgoingMessage<Tickets> => ({
  tenant: TENANT,
  data: { tickets: Array.from({ length: 100 }, (_, at) => ticketOf(id * 100 + at + 1)) },
});

test('however long its queue is, a consumer holds no more of it than it handles at once, and its memory stays flat [SEM-104]', async () => {
  const { broker, vhost } = await setUp({ publishTimeoutMs: 60_000 });
  const total = 5_000;
  const bytes = JSON.stringify(largeMessage(1)).length * total;
  for (let first = 0; first < total; first += 500) {
    const ids = Array.from({ length: 500 }, (_, at) => first + at + 1);
    expect((await broker.publish(ordersQueue, ids.map(largeMessage))).every(({ ok }) => ok)).toBe(true);
  }
  const channel = await (await operator(vhost)).createChannel();
  const ready = async () => (await channel.checkQueue(ordersQueue.name)).messageCount;
  await eventually(async () => ((await ready()) === total ? true : undefined));

  const gate = Promise.withResolvers<void>();
  const counted = { running: 0, most: 0, handled: 0 };
  const before = process.memoryUsage().rss;
  broker.consume(
    ordersQueue,
    async () => {
      counted.running += 1;
      counted.most = Math.max(counted.most, counted.running);
      await gate.promise;
      counted.running -= 1;
      counted.handled += 1;
      return DONE;
    },
    { concurrency: 8 },
  );
  await until(() => counted.running === 8);
  expect(await ready()).toBe(total - 8);
  expect(process.memoryUsage().rss - before).toBeLessThan(bytes);
  gate.resolve();
  await until(() => counted.handled === total, 60_000);
  expect(counted.most).toBe(8);
}, 120_000);

test('a handler that does not end holds up its own message and no other of thousands [SEM-106]', async () => {
  const { broker } = await setUp({ publishTimeoutMs: 60_000 });
  const ids = Array.from({ length: 3_000 }, (_, at) => at + 1);
  expect((await broker.publish(ordersQueue, ids.map(messageOf))).every(({ ok }) => ok)).toBe(true);
  const gate = Promise.withResolvers<void>();
  const seen = new Set<number>();
  broker.consume(
    ordersQueue,
    async (message) => {
      if (idOf(message) === 1) await gate.promise;
      seen.add(idOf(message));
      return DONE;
    },
    { concurrency: 4 },
  );
  await until(() => seen.size === ids.length - 1, 60_000);
  expect(seen.has(1)).toBe(false);
  gate.resolve();
  await broker.settled();
  expect(seen.size).toBe(ids.length);
}, 120_000);
