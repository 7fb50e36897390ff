import { PermanentError } from '@dueline/kernel';
import { expect, onTestFinished, test } from 'vitest';
import { connectBroker, declareTopology, verifyTopology } from '../src/index.ts';
import { createManagement } from '../src/management.ts';
import { testVhost } from '../src/testing.ts';
import { ordersQueue, TEST_QUEUES } from './queues.ts';
import { messageOf, operator, recordingLog } from './support.ts';

const { log } = recordingLog();

async function ownVhost(options: Parameters<typeof testVhost>[0]) {
  const vhost = await testVhost(options);
  onTestFinished(() => vhost[Symbol.asyncDispose]());
  return vhost;
}

test('a declared topology verifies, and declaring it again changes nothing', async () => {
  const vhost = await ownVhost({ queues: TEST_QUEUES });
  await declareTopology({ ...vhost, queues: TEST_QUEUES, log });
  expect(await verifyTopology({ ...vhost, queues: TEST_QUEUES, log })).toEqual([]);
});

test('what is missing is named, without the management API too', async () => {
  const vhost = await ownVhost({ queues: TEST_QUEUES });
  const channel = await (await operator(vhost)).createChannel();
  await channel.deleteQueue('changes.dlq');
  await channel.deleteExchange('dueline.dlx');
  expect(await verifyTopology({ url: vhost.url, queues: TEST_QUEUES, log })).toEqual([
    'exchange dueline.dlx does not exist',
    'queue changes.dlq does not exist',
  ]);
});

test('types, bindings and policies that drifted are named with what they are and what they should be', async () => {
  const vhost = await ownVhost({ queues: [] });
  const channel = await (await operator(vhost)).createChannel();
  await channel.assertQueue('orders', { durable: true });
  await expect(declareTopology({ ...vhost, queues: TEST_QUEUES, log })).rejects.toThrow(PermanentError);
  await channel.deleteQueue('orders');
  await declareTopology({ ...vhost, queues: TEST_QUEUES, log });
  await channel.deleteQueue('orders');
  await channel.assertQueue('orders', { durable: true });
  await channel.bindQueue('orders', 'dueline.commands', 'orders');
  await channel.bindQueue('orders', 'dueline.requeue', 'orders');
  await channel.unbindQueue('changes', 'dueline.events', 'changes');
  const management = createManagement(vhost);
  await management.delete(['policies', management.vhost, 'dueline.changes.dlq']);
  await management.put(['policies', management.vhost, 'dueline.retry.10m'], {
    pattern: '^retry\\.10m$',
    priority: 10,
    definition: { 'message-ttl': 5, 'dead-letter-exchange': 'dueline.requeue', overflow: 'reject-publish' },
    'apply-to': 'queues',
  });
  await management.put(['policies', management.vhost, 'everything'], {
    pattern: '^changes$',
    priority: 99,
    definition: { 'max-length': 1 },
    'apply-to': 'queues',
  });
  expect(await verifyTopology({ ...vhost, queues: TEST_QUEUES, log })).toEqual([
    'queue orders is of type classic, not quorum',
    'queue changes is governed by everything, not dueline.changes',
    'queue changes.dlq is governed by no policy, not dueline.changes.dlq',
    "queue changes is not bound to dueline.events by 'changes'",
    'policy dueline.changes.dlq does not exist',
    'policy dueline.retry.10m has message-ttl 5, not 600000',
    'policy dueline.retry.10m has dead-letter-strategy unset, not "at-least-once"',
  ]);
});

test('an app on a broker without topology stays unready and becomes ready once it is declared', async () => {
  const vhost = await ownVhost({ queues: [] });
  const broker = connectBroker({ url: vhost.url, appId: 'early', log, queues: [ordersQueue] });
  onTestFinished(() => broker.close());
  await expect.poll(() => broker.problems()).toContain('queue orders does not exist');
  expect(broker.problems()).toContain('exchange dueline.commands does not exist');
  expect(broker.state()).toBe('connecting');
  expect(await broker.publish(ordersQueue, [messageOf(1)])).toEqual([{ ok: false, reason: 'not_connected' }]);
  await declareTopology({ ...vhost, queues: [ordersQueue], log });
  await broker.ready();
  expect(await broker.publish(ordersQueue, [messageOf(1)])).toEqual([{ ok: true }]);
});
