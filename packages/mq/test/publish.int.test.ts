import { expect, test } from 'vitest';
import { MAX_BODY_BYTES } from '../src/index.ts';
import { createManagement } from '../src/management.ts';
import { ordersQueue } from './queues.ts';
import { messageOf, operator, setUp, TENANT, takeFrom } from './support.ts';

const OK = { ok: true };

test('every one of many concurrent publishes is confirmed and held by its queue', async () => {
  const { broker, vhost } = await setUp();
  const batches = Array.from({ length: 20 }, (_, batch) =>
    broker.publish(
      ordersQueue,
      Array.from({ length: 100 }, (_, at) => messageOf(batch * 100 + at + 1)),
    ),
  );
  const results = (await Promise.all(batches)).flat();
  expect(results).toHaveLength(2_000);
  expect(results.every((result) => result.ok)).toBe(true);
  const channel = await (await operator(vhost)).createChannel();
  expect((await channel.checkQueue('orders')).messageCount).toBe(2_000);
});

test('a message is persistent and carries its envelope', async () => {
  const { broker, vhost } = await setUp();
  await broker.publish(ordersQueue, [messageOf(7)]);
  const { content, properties } = await takeFrom(await operator(vhost), 'orders');
  const body: unknown = JSON.parse(content.toString());
  expect(body).toEqual({
    id: properties.messageId,
    type: 'orders',
    version: 1,
    publishedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    source: 'mq-test',
    tenant: TENANT,
    data: { tickets: [{ id: '7', fence: '1' }] },
  });
  expect(properties).toMatchObject({ deliveryMode: 2, contentType: 'application/json', type: 'orders.v1' });
});

test('a message that reaches no queue is reported, the others of its time are confirmed', async () => {
  const { broker, vhost } = await setUp();
  const changes = { ...ordersQueue, name: 'changes' };
  const channel = await (await operator(vhost)).createChannel();
  const [lost, kept] = await Promise.all([
    broker.publish(changes, [messageOf(1)]),
    broker.publish(ordersQueue, [messageOf(2)]),
  ]);
  expect(lost).toEqual([{ ok: false, reason: 'unroutable' }]); // bound to the events exchange, sent to commands
  expect(kept).toEqual([OK]);
  await channel.unbindQueue('orders', 'dueline.commands', 'orders');
  expect(await broker.publish(ordersQueue, [messageOf(3)])).toEqual([{ ok: false, reason: 'unroutable' }]);
  await channel.bindQueue('orders', 'dueline.commands', 'orders');
  expect(await broker.publish(ordersQueue, [messageOf(4)])).toEqual([OK]);
});

test('a body over 64 KiB is refused before it is sent, its neighbours are confirmed', async () => {
  const { broker } = await setUp();
  const large = { tenant: TENANT, data: { tickets: [{ id: '1'.repeat(MAX_BODY_BYTES), fence: '1' }] } };
  expect(await broker.publish(ordersQueue, [messageOf(1), large, messageOf(2)])).toEqual([
    OK,
    { ok: false, reason: 'too_large' },
    OK,
  ]);
});

test('a full queue refuses messages instead of dropping them', async () => {
  const { broker, vhost } = await setUp();
  const management = createManagement(vhost);
  await management.put(['policies', management.vhost, 'full'], {
    pattern: '^orders$',
    priority: 20,
    definition: { 'max-length': 1, overflow: 'reject-publish' },
    'apply-to': 'queues',
  });
  const reasons = new Set<string>();
  for (let id = 1; id < 200 && !reasons.has('nacked'); id++) {
    for (const result of await broker.publish(ordersQueue, [messageOf(id)])) if (!result.ok) reasons.add(result.reason);
  }
  expect([...reasons]).toEqual(['nacked']);
});
