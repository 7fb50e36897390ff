import {
  BREAKER_LIMITS,
  closeBreaker,
  forgetThrottled,
  listAccountStates,
  loadBreakers,
  noteRefusal,
  noteThrottled,
  type PauseReason,
  pauseAccount,
  takeBreakerProbe,
  takePausedAccounts,
  unpauseAccount,
} from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const pause = (reasonCode: PauseReason, by = 'system') =>
  inTransaction(own.db, (tx) => pauseAccount(tx, tenant, { reasonCode, by, reason: 'because' }));
const unpause = (reasonCode?: PauseReason) =>
  inTransaction(own.db, (tx) =>
    unpauseAccount(tx, tenant, { by: 'mika', reason: null, ...(reasonCode !== undefined && { reasonCode }) }),
  );
const status = async () => (await listAccountStates(own.db))[0];
const take = () => takePausedAccounts(own.db, { everySeconds: 0, limit: 10 });

test('however many find out at the same moment, an account is paused once and goes on once, and the trail says who and why', async () => {
  const found = await Promise.all(Array.from({ length: 8 }, () => pause('monthly_limit')));
  expect(found.filter(Boolean)).toHaveLength(1);
  expect(await status()).toMatchObject({ status: 'paused_quota', reasonCode: 'monthly_limit' });
  const ended = await Promise.all(Array.from({ length: 8 }, () => unpause()));
  expect(ended.filter(Boolean)).toHaveLength(1);
  expect(await status()).toMatchObject({ status: 'active', reasonCode: null, pausedAt: null });
  expect(
    await columnOf(own.db, `select concat_ws(' ', operation, done_by, reason) from audit_log order by id`),
  ).toEqual(['pause system because', 'unpause mika']);
});

test('the pause of a person takes the place of another one, and ends by a person only', async () => {
  await pause('token_refused');
  expect(await pause('by_person', 'mika')).toBe(true);
  expect(await pause('by_person', 'mika')).toBe(false);
  expect(await pause('monthly_limit')).toBe(false);
  expect(await unpause('token_refused')).toBe(false);
  expect(await take()).toEqual([]);
  expect(await status()).toMatchObject({ status: 'paused_by_person' });
  expect(await unpause()).toBe(true);
});

test('each paused account is looked at by one process at a time', async () => {
  await pause('monthly_limit');
  const takers = await Promise.all(
    Array.from({ length: 6 }, () => takePausedAccounts(own.db, { everySeconds: 30, limit: 10 })),
  );
  expect(takers.flat()).toEqual([]); // just paused
  await expect.poll(async () => (await takePausedAccounts(own.db, { everySeconds: 0.05, limit: 10 })).length).toBe(1);
  await own.db.$client.query(`update account_trouble set looked_at = looked_at - interval '1 minute'`);
  const again = await Promise.all(
    Array.from({ length: 6 }, () => takePausedAccounts(own.db, { everySeconds: 30, limit: 10 })),
  );
  expect(again.flat()).toHaveLength(1);
});

test.for(['forbidden', 'by_person'] as const)('a pause %s is never ended by a look', async (reasonCode) => {
  await pause(reasonCode);
  expect(await take()).toEqual([]);
});

test('a row of 429s lasts from the first to the last, until LINE serves or ten minutes are free of them', async () => {
  expect(await noteThrottled(own.db, tenant)).toBe(0);
  await moveProductTime(own.db, 540);
  expect(Math.round(await noteThrottled(own.db, tenant))).toBe(540);
  await moveProductTime(own.db, 540);
  expect(Math.round(await noteThrottled(own.db, tenant))).toBe(1_080);
  await forgetThrottled(own.db, tenant);
  expect(await noteThrottled(own.db, tenant)).toBe(0);
  await moveProductTime(own.db, 601);
  expect(await noteThrottled(own.db, tenant)).toBe(0);
});

const note = (name: string) => noteRefusal(own.db, { ...tenant, name, limits: BREAKER_LIMITS });
const refuse = async (id: number) => (await note(`${id}/`)).openSeconds;

test('five different deliveries refused within a minute open the breaker, the same one again and old ones do not', async () => {
  for (const id of [1, 2, 2, 1, 2]) expect(await refuse(id)).toBe(0);
  await moveProductTime(own.db, 50);
  for (const id of [3, 4]) expect(await refuse(id)).toBe(0);
  await moveProductTime(own.db, 20);
  for (const id of [5, 6]) expect(await refuse(id)).toBe(0);
  expect(Math.round(await refuse(7))).toBe(300);
  expect(await loadBreakers(own.db)).toEqual(new Set([tenant.lineOaId]));
});

test('of a request and its parts those count that have no refused part: the search for one bad recipient opens nothing, halves that are all refused do', async () => {
  for (const path of ['', '', '0', '01', '010', '0101', '01011'])
    expect(await note(`chunk/0/${path}`)).toEqual({ openSeconds: 0, others: 0 });
  expect(await note('chunk/1/')).toEqual({ openSeconds: 0, others: 1 });
  for (const path of ['0', '1', '00']) expect(await note(`chunk/1/${path}`)).toMatchObject({ openSeconds: 0 });
  expect(await note('chunk/1/01')).toEqual({ openSeconds: 0, others: 3 });
  expect(await note('chunk/1/10')).toEqual({ openSeconds: 0, others: 3 });
  expect((await note('chunk/1/11')).openSeconds).toBeGreaterThan(290);
});

test('refusals that replicas note at the same moment are all counted', async () => {
  const seconds = await Promise.all([1, 2, 3, 4, 5].map(refuse));
  expect(seconds.filter((open) => open > 0)).toHaveLength(1);
});

test('after its time one of all replicas may try; a refusal opens it for the whole time again, an acceptance closes it', async () => {
  const probe = () => takeBreakerProbe(own.db, { lineOaId: tenant.lineOaId, limits: BREAKER_LIMITS });
  for (const id of [1, 2, 3, 4, 5]) await refuse(id);
  expect(await probe()).toBe(false);
  await moveProductTime(own.db, 301);
  expect((await Promise.all(Array.from({ length: 6 }, probe))).filter(Boolean)).toHaveLength(1);
  expect(Math.round(await refuse(9))).toBe(300);
  await moveProductTime(own.db, 301);
  expect(await probe()).toBe(true);
  expect(await closeBreaker(own.db, { ...tenant, limits: BREAKER_LIMITS })).toBe(true);
  expect(await closeBreaker(own.db, { ...tenant, limits: BREAKER_LIMITS })).toBe(false);
  expect(await note('10/')).toEqual({ openSeconds: 0, others: 6 });
  await moveProductTime(own.db, 3_601);
  expect(await note('10/')).toEqual({ openSeconds: 0, others: 0 });
});
