import { randomUUID } from 'node:crypto';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tickets } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { testDb } from '@dueline/db/testing';
import { createDeliveries, settleDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { createLineClient } from '@dueline/line-client';
import { expect, test } from 'vitest';
import { type ExecuteDeps, executeActions } from '../src/execute-action.ts';
import { createInHand, createPart } from '../src/in-hand.ts';
import { createLocalBuckets } from '../src/limits/buckets.ts';
import { createLimits } from '../src/limits/limits.ts';
import { audienceOf, CHANNEL, claimOne, stage } from './campaign-stage.ts';
import { silent } from './limits/support.ts';

test('while LINE answers no request of a campaign, a push finds a slot at once', { timeout: 60_000 }, async () => {
  await using database = await testDb();
  const { db } = database;
  const { simulator, tenant, published, start } = await stage(db);
  await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, 1_300) });
  await start(await claimOne(db));
  const [push] = await inTransaction(db, (tx) => createDeliveries(tx, [deliveryToCreate(tenant)]));

  const whole = createInHand(3);
  const chunks = createPart(whole, 2);
  const limits = createLimits({
    ...{ db, buckets: createLocalBuckets({ replicas: 1 }), inHand: { push: whole, chunks }, log: silent },
    tell: () => undefined,
  });
  const client = createLineClient({ baseUrl: simulator.apiUrl, attemptTimeoutMs: 5_000 });
  const answer = Promise.withResolvers<void>();
  const asked: string[] = [];
  const line: ExecuteDeps['line'] = {
    ...client,
    multicast: async (request) => {
      asked.push('multicast');
      await answer.promise;
      return client.multicast(request);
    },
    push: (request) => {
      asked.push('push');
      return client.push(request);
    },
  };
  const deps = {
    ...{ db, line, log: silent, onSettled: () => undefined },
    start: { claimedBy: 'line-delivery/test:1', leaseSeconds: 30, settleSeconds: 0 },
    channelAccessToken: async () => CHANNEL.channelAccessToken,
    settle: async (settlement: Parameters<ExecuteDeps['settle']>[0]) =>
      (await settleDeliveries(db, [settlement])).size === 1,
  };
  const handle = (tickets: Tickets['tickets'], parts: Pick<ExecuteDeps, 'inHand' | 'limits'>) =>
    executeActions({ ...deps, ...parts })(
      { id: randomUUID(), tenant, data: { tickets }, deliveryCount: 0, publishedAt: '' },
      { signal: new AbortController().signal },
    );

  const campaign = handle(published, { inHand: chunks, limits: limits.chunks });
  await expect.poll(() => asked).toEqual(['multicast', 'multicast']); // the third waits for a slot of the part
  await handle(push === undefined ? [] : [push], { inHand: whole, limits: limits.push });
  await expect.poll(() => asked).toEqual(['multicast', 'multicast', 'push']);

  answer.resolve();
  expect(await campaign).toEqual({ outcome: 'done', detail: { started: 3 } });
  await Promise.all([chunks.drain(), whole.drain()]);
  client.close();
  expect([...simulator.ledger.receipts()].length).toBeGreaterThanOrEqual(1_300);
});
