import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { DUE_CHANNEL, recoverStaleProcessing, releaseActions, wakeDue } from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim, insertCrowd, schedule } from './support.ts';

let own: TestDb;
let tenant: Tenant;
let heard: string[];
let stopListening: () => Promise<void>;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  const client = await own.db.$client.connect();
  heard = [];
  client.on('notification', ({ channel }) => heard.push(channel));
  await client.query(`listen ${DUE_CHANNEL}; listen mark`);
  stopListening = async () => client.release(true);
});
afterEach(async () => {
  await stopListening();
  await own[Symbol.asyncDispose]();
});

/** Notifications since the last call: they come in the order of their commits, so a mark comes after all before it. */
async function heardByNow(): Promise<number> {
  await own.db.$client.query('notify mark');
  await expect.poll(() => heard.includes('mark'), { interval: 2 }).toBe(true);
  const count = heard.indexOf('mark');
  heard = heard.slice(count + 1);
  return count;
}

/** The gate lets one through in 10 ms. */
const letGateOpen = () =>
  own.db.$client.query(`update notify_gate set woken_at = '-infinity' where channel = '${DUE_CHANNEL}'`);

test.for([
  [0, 1],
  [1, 1],
  [2, 0],
  [259_200, 0],
] as const)('work that is due in %i s costs its writer %i notifications', async ([delaySeconds, notifications]) => {
  await schedule(own.db, tenant, { delaySeconds, count: 3 });
  expect(await heardByNow()).toBe(notifications);
});

test('a thousand writers at once send a few notifications, and none waits for another', async () => {
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      for (let n = 0; n < 50; n += 1) await schedule(own.db, tenant);
    }),
  );
  const atMost = (performance.now() - startedAt) / 10 + 1;
  const count = await heardByNow();
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(Math.min(atMost, 999));
});

test('a writer that holds the gate open delays nobody', async () => {
  await inTransaction(own.db, async (tx) => {
    await wakeDue(tx);
    await schedule(own.db, tenant);
    expect(await heardByNow()).toBe(0);
  });
  expect(await heardByNow()).toBe(1); // its own
});

test.for([
  ['[T8] a release', async () => void (await releaseActions(own.db, await claim(own.db)))],
  [
    '[T9] a row of a dead worker that is taken back',
    async () => {
      await claim(own.db, { leaseSeconds: -1 });
      await recoverStaleProcessing(own.db);
    },
  ],
  ['[T10] whoever says so', () => inTransaction(own.db, wakeDue)],
] as [string, () => Promise<void>][])('%s wakes the claimers', async ([, move]) => {
  await schedule(own.db, tenant);
  await heardByNow();
  await letGateOpen();
  await move();
  expect(await heardByNow()).toBe(1);
});

test('bulk that is due later sends nothing, however much it is', async () => {
  await insertCrowd(own.url, tenant, { count: 5_000, fromSeconds: 60 });
  expect(await heardByNow()).toBe(0);
});
