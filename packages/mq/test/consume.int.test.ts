import { PermanentError, TransientError } from '@dueline/kernel';
import { expect, test } from 'vitest';
import { DONE, discarded } from '../src/index.ts';
import { changesQueue, ordersQueue } from './queues.ts';
import { collect, eventually, idOf, messageOf, operator, setUp, TENANT, takeFrom, ticketOf, until } from './support.ts';

const envelopeOf = (changes: object) => ({
  id: crypto.randomUUID(),
  type: 'orders',
  version: 1,
  publishedAt: new Date().toISOString(),
  source: 'elsewhere',
  tenant: TENANT,
  data: { tickets: [ticketOf(1)] },
  ...changes,
});

test('messages are handled with at most the given concurrency and acknowledged', async () => {
  const { broker, events } = await setUp();
  const seen: number[] = [];
  let running = 0;
  let most = 0;
  const handler = async (message: Parameters<typeof idOf>[0]) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    seen.push(idOf(message));
    return idOf(message) === 1 ? discarded('claim no longer held') : DONE;
  };
  broker.consume(ordersQueue, handler, { concurrency: 4 });
  await broker.publish(
    ordersQueue,
    Array.from({ length: 200 }, (_, at) => messageOf(at + 1)),
  );
  await broker.settled();
  expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, at) => at + 1));
  expect(most).toBeLessThanOrEqual(4);
  expect(events.filter((event) => event.type === 'consumed' && event.result === 'done')).toHaveLength(199);
  expect(events.filter((event) => event.type === 'consumed' && event.result === 'discarded')).toHaveLength(1);
});

test('a body that breaks its contract is dead-lettered at its first delivery, its neighbours are handled', async () => {
  const { broker, vhost, lines } = await setUp();
  const seen: number[] = [];
  broker.consume(ordersQueue, collect(seen, idOf), { concurrency: 5 });
  const connection = await operator(vhost);
  const channel = await connection.createConfirmChannel();
  const bodies = [
    'not json',
    Buffer.from([0xff, 0xfe]),
    '',
    'null',
    JSON.stringify(envelopeOf({ id: 'x' })),
    JSON.stringify(envelopeOf({ type: 'changes' })),
    JSON.stringify(envelopeOf({ data: { tickets: [] } })),
    JSON.stringify(envelopeOf({ data: { tickets: [{ id: 'secret', fence: '1' }] } })),
    JSON.stringify(envelopeOf({ version: 'one' })),
  ];
  await broker.publish(ordersQueue, [messageOf(10)]);
  for (const body of bodies) {
    channel.publish('dueline.commands', 'orders', Buffer.from(body), { headers: { 'x-delivery-count': 'many' } });
  }
  await channel.waitForConfirms();
  await broker.publish(ordersQueue, [messageOf(11)]);
  for (const _ of bodies) {
    const dead = await takeFrom(connection, 'orders.dlq');
    expect(dead.properties.headers?.['x-death']).toMatchObject([{ reason: 'rejected', count: 1, queue: 'orders' }]);
  }
  await broker.settled();
  expect(seen).toEqual([10, 11]);
  const errors = lines.filter(({ level }) => level === 'error');
  expect(errors).toHaveLength(bodies.length);
  expect(JSON.stringify(errors)).not.toContain('secret');
});

test('a permanent error dead-letters its message at once', async () => {
  const { broker, vhost } = await setUp();
  let calls = 0;
  const handler = async () => {
    calls++;
    throw new PermanentError('channel token revoked');
  };
  broker.consume(ordersQueue, handler, { concurrency: 1 });
  await broker.publish(ordersQueue, [messageOf(5)]);
  expect((await takeFrom(await operator(vhost), 'orders.dlq')).content.toString()).toContain('"id":"5"');
  expect(calls).toBe(1);
});

test('a transient error is tried again in place and never through the broker', async () => {
  const { broker, lines, events } = await setUp();
  const counts: number[] = [];
  const handler = async ({ deliveryCount }: { deliveryCount: number }) => {
    counts.push(deliveryCount);
    if (counts.length < 4) throw new TransientError('database is away');
    return DONE;
  };
  broker.consume(ordersQueue, handler, { concurrency: 1 });
  await broker.publish(ordersQueue, [messageOf(1)]);
  await until(() => counts.length === 4);
  await broker.settled();
  expect(counts).toEqual([0, 0, 0, 0]);
  expect(lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
    'messages cannot be handled, trying in place',
    'messages are handled again',
  ]);
  expect(events.filter(({ type }) => type === 'handler_failed')).toHaveLength(3);
});

test('an error of unknown cause is tried five times, then its message is dead-lettered [SEM-103]', async () => {
  const { broker, vhost } = await setUp();
  let calls = 0;
  const handler = async (message: Parameters<typeof idOf>[0]) => {
    if (idOf(message) === 2) return DONE;
    calls++;
    throw new Error('unexpected');
  };
  broker.consume(ordersQueue, handler, { concurrency: 2 });
  await broker.publish(ordersQueue, [messageOf(1), messageOf(2)]);
  expect((await takeFrom(await operator(vhost), 'orders.dlq')).content.toString()).toContain('"id":"1"');
  expect(calls).toBe(5);
});

test('a handler that exceeds its time is told so by its signal', async () => {
  const { broker } = await setUp();
  let tries = 0;
  const handler = (_message: unknown, { signal }: { signal: AbortSignal }) => {
    if (++tries > 1) return Promise.resolve(DONE);
    const { promise, reject } = Promise.withResolvers<typeof DONE>();
    signal.addEventListener('abort', () => reject(signal.reason));
    return promise;
  };
  broker.consume(ordersQueue, handler, { concurrency: 1, handlerTimeoutMs: 50 });
  await broker.publish(ordersQueue, [messageOf(1)]);
  await until(() => tries === 2);
  await broker.settled();
});

test('a message of a later version waits in the tier and comes back to its own queue only', async () => {
  const { broker, vhost, events } = await setUp({ retryTierMs: 100 });
  broker.consume(ordersQueue, async () => DONE, { concurrency: 1 });
  const others: number[] = [];
  broker.consume(changesQueue, collect(others, idOf), { concurrency: 1 });
  const connection = await operator(vhost);
  const channel = await connection.createConfirmChannel();
  const body = JSON.stringify(envelopeOf({ version: 2, data: { unknown: true } }));
  channel.publish('dueline.commands', 'orders', Buffer.from(body), { messageId: 'later', headers: { 'x-own': 1 } });
  await channel.waitForConfirms();
  await eventually(() =>
    events.filter((event) => event.type === 'consumed' && event.result === 'deferred').length >= 3 ? true : undefined,
  );
  expect(others).toEqual([]);
});

test('a later version that nobody learns to read within a day is dead-lettered, byte for byte', async () => {
  const { broker, vhost } = await setUp({ retryTierMs: 100 });
  broker.consume(ordersQueue, async () => DONE, { concurrency: 1 });
  const connection = await operator(vhost);
  const channel = await connection.createConfirmChannel();
  const publishedAt = new Date(Date.now() - 25 * 3_600_000).toISOString();
  const body = JSON.stringify(envelopeOf({ version: 2, publishedAt }));
  channel.publish('dueline.commands', 'orders', Buffer.from(body));
  expect((await takeFrom(connection, 'orders.dlq')).content.toString()).toBe(body);
});
