import type { Tenant } from '@dueline/contracts';
import { insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { oldestDueSeconds } from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim, insertCrowd, schedule } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

/** Product time goes on while a test runs, so a lateness is at least what it should be, and no hour more. */
const about = (seconds: number, found: number) => {
  expect(found).toBeGreaterThanOrEqual(seconds);
  expect(found).toBeLessThan(seconds + 3_600);
};

test('nothing that waits for its time is late, and what is overdue is as late as the oldest of it', async () => {
  await schedule(own.db, tenant, { delaySeconds: 40_000 });
  await schedule(own.db, await insertTenant(own.db), { delaySeconds: 20_000 });
  expect(await oldestDueSeconds(own.db)).toBe(0);
  await moveProductTime(own.db, 30_000);
  about(10_000, await oldestDueSeconds(own.db));
  await moveProductTime(own.db, 20_000);
  about(30_000, await oldestDueSeconds(own.db));
});

test('what is claimed is not late any more', async () => {
  await schedule(own.db, tenant, { count: 3 });
  await moveProductTime(own.db, 10_000);
  about(10_000, await oldestDueSeconds(own.db));
  expect(await claim(own.db, { maxProcessing: Number.MAX_SAFE_INTEGER })).toHaveLength(3);
  expect(await oldestDueSeconds(own.db)).toBe(0);
});

test.for([
  ['stopped', `update line_oa set stopped_at = app_now()`],
  ['paused', `update line_oa set status = 'paused_by_person'`],
  ['of a stopped organization', `update organization set stopped_at = app_now()`],
] as const)('work of an account that is %s waits rightly', async ([, change]) => {
  await schedule(own.db, tenant);
  await moveProductTime(own.db, 10_000);
  await own.db.$client.query(change);
  expect(await oldestDueSeconds(own.db)).toBe(0);
});

test.for([0, 1, 2])('a wait of lane %i is late when its grace is over', async (lane) => {
  await insertCrowd(own.url, tenant, { count: 1, lane, fromSeconds: -10_000, isWaiting: true });
  expect(await oldestDueSeconds(own.db, { graceSeconds: 20_000 })).toBe(0);
  about(5_000, await oldestDueSeconds(own.db, { graceSeconds: 5_000 }));
});
