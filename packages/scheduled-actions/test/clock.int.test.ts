import type { Tenant } from '@dueline/contracts';
import { insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { createDueAccounts, dueWithin, recoverStaleProcessing } from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { claim, each, schedule } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(async () => {
  vi.useRealTimers();
  await own[Symbol.asyncDispose]();
});

const HOUR = 3_600;

test('when the time was set eight hours ahead and back, what is due then is claimed within a minute, and nothing twice [SEM-028]', async () => {
  let processMs = 0;
  const accounts = createDueAccounts(() => processMs);
  const ids = async () => (await claim(own.db, { accounts })).map(({ id }) => id);
  await moveProductTime(own.db, 8 * HOUR);
  const [atOnce] = await schedule(own.db, tenant);
  const [soon] = await schedule(own.db, tenant, { delaySeconds: 60 });
  expect(await ids()).toEqual([atOnce]);

  await moveProductTime(own.db, -8 * HOUR);
  const [afterwards] = await schedule(own.db, tenant, { delaySeconds: 60 });
  processMs += 60_000;
  expect(await ids()).toEqual([]);
  await moveProductTime(own.db, 61);
  processMs += 60_000;
  expect(await ids()).toEqual([afterwards]);

  await moveProductTime(own.db, 8 * HOUR);
  processMs += 60_000;
  expect(await ids()).toEqual([soon]);
});

test.for([-600, 600])(
  'a process whose clock is %i s off claims nothing early, and takes back nothing that is in good hands [SEM-060]',
  async (seconds) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + seconds * 1_000 });
    await schedule(own.db, tenant, { count: 2 });
    await schedule(own.db, tenant, { delaySeconds: 300 });
    expect(await claim(own.db, { limit: 1, leaseSeconds: 300 })).toHaveLength(1);
    expect(await recoverStaleProcessing(own.db)).toBe(0);
    expect(await claim(own.db, { leaseSeconds: -1 })).toHaveLength(1);
    expect(await claim(own.db)).toEqual([]);
    expect(await dueWithin(own.db, 2_000)).toEqual([]);
    expect(await recoverStaleProcessing(own.db)).toBe(1);
    expect((await each(own.db, 'status')).sort()).toEqual(['pending', 'pending', 'processing']);
  },
);
