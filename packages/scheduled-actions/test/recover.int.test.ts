import type { Tenant } from '@dueline/contracts';
import { inTransaction, sql, type Tx } from '@dueline/db';
import { insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { TransientError } from '@dueline/kernel';
import {
  failedDecision,
  finishActions,
  holdActions,
  recoverEarlierBoots,
  recoverStaleProcessing,
  scheduleAction,
} from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { claim, each, schedule } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const STATE = `concat_ws(' ', status, fence, attempt, retry_count, rescue_count)`;

test('only rows whose lease is over are taken back; the try is given back and old tickets are useless [SEM-042]', async () => {
  await schedule(own.db, tenant, { count: 2 });
  const stale = await claim(own.db, { limit: 1, leaseSeconds: -1 });
  await claim(own.db, { limit: 1, leaseSeconds: 300 });
  expect(await recoverStaleProcessing(own.db)).toBe(1);
  expect(await recoverStaleProcessing(own.db)).toBe(0);
  expect((await each(own.db, STATE)).sort()).toEqual(['pending 2 0 0 0', 'processing 1 1 0 0']);
  expect(await inTransaction(own.db, (tx) => holdActions(tx, stale))).toEqual([]);
});

test('a row that a deciding transaction holds is left to it [SEM-044]', async () => {
  await schedule(own.db, tenant, { count: 2 });
  const [held] = await claim(own.db, { leaseSeconds: -1 });
  await inTransaction(own.db, async (tx) => {
    expect(await holdActions(tx, held === undefined ? [] : [held])).toHaveLength(1);
    expect(await recoverStaleProcessing(own.db)).toBe(1);
  });
});

test('at most 500 rows are taken back a call, by recoverers at once each row once', async () => {
  await schedule(own.db, tenant, { count: 1_200 });
  for (let n = 0; n < 3; n += 1) await claim(own.db, { leaseSeconds: -1 });
  expect(await recoverStaleProcessing(own.db)).toBe(500);
  const counts = await Promise.all(Array.from({ length: 4 }, () => recoverStaleProcessing(own.db)));
  expect(counts.reduce((sum, count) => sum + count, 0) + (await recoverStaleProcessing(own.db))).toBe(700);
  expect(new Set(await each(own.db, STATE))).toEqual(new Set(['pending 2 0 0 0']));
});

const NAMES: [name: string, mine: string, others: string][] = [
  ['another instance', 'cron-1:b', 'cron-2:a'],
  ['an instance whose name begins with mine', 'cron-1:b', 'cron-11:a'],
  ['an instance whose name begins with mine and a colon', 'cron:b', 'cron:eu:a'],
  ['an instance whose name is a part of mine', 'cron:eu:b', 'cron:a'],
  ['what % would match', 'cron%:b', 'cron-1:a'],
  ['what _ would match', 'cron_1:b', 'cron-1:a'],
  ['what a pattern would match', 'cron.1:b', 'cron-1:a'],
  ['this very boot', 'cron-1:b', 'cron-1:b'],
  ['all others, when my name has no boot id', 'cron-1', 'cron-2:a'],
];

test.for(NAMES)('a starting instance leaves the rows of %s alone', async ([, mine, others]) => {
  await schedule(own.db, tenant);
  await claim(own.db, { claimedBy: others });
  expect(await recoverEarlierBoots(own.db, { claimedBy: mine })).toBe(0);
});

test.for(['cron-1', 'cron:eu', 'cron%', 'trigger-worker/pod_a', 'ครอน'])(
  'a starting instance named %s takes back what its earlier boots had claimed',
  async (name) => {
    await schedule(own.db, tenant, { count: 3 });
    for (const boot of ['a', 'b', 'c']) await claim(own.db, { claimedBy: `${name}:${boot}`, limit: 1 });
    expect(await recoverEarlierBoots(own.db, { claimedBy: `${name}:c` })).toBe(2);
    expect((await each(own.db, STATE)).sort()).toEqual(['pending 2 0 0 0', 'pending 2 0 0 0', 'processing 1 1 0 0']);
  },
);

test('an orphan keeps its open key until it is taken back and ends, and no longer [SEM-048]', async () => {
  const work = () => inTransaction(own.db, (tx) => scheduleAction(tx, actionToSchedule(tenant, { openKey: 'k' })));
  expect(await work()).toMatchObject({ result: 'made' });
  await claim(own.db, { leaseSeconds: -1 }); // and its process dies
  expect(await work()).toMatchObject({ result: 'already_pending' });
  expect(await recoverStaleProcessing(own.db)).toBe(1);
  const [ticket] = await claim(own.db);
  if (ticket === undefined) throw new Error('an orphan was to be claimed again');
  await inTransaction(own.db, (tx) => finishActions(tx, [{ ...ticket, to: 'done' }]));
  expect(await work()).toMatchObject({ result: 'made' });
});

test('a row whose worker loses its connection while it fails for good ends all the same, and blocks nobody meanwhile [SEM-043]', async () => {
  await schedule(own.db, tenant, { count: 2 });
  await own.db.$client.query('update scheduled_action set retry_count = 3');
  const [lost, other] = await claim(own.db, { leaseSeconds: -1 });
  if (lost === undefined || other === undefined) throw new Error('both were to be claimed');
  const fail = (ticket: typeof lost, beforeCommit: (tx: Tx) => Promise<unknown>) =>
    inTransaction(own.db, async (tx) => {
      const outcomes = (await holdActions(tx, [ticket])).map((action) =>
        failedDecision(action, { error: 'it broke', fatal: false }),
      );
      await finishActions(tx, outcomes);
      await beforeCommit(tx);
    });
  const dies = fail(lost, async (tx) => {
    await fail(other, () => Promise.resolve());
    await tx.execute(sql`select pg_terminate_backend(pg_backend_pid())`);
  });
  await expect(dies).rejects.toThrow(TransientError);
  expect((await each(own.db, 'status')).sort()).toEqual(['failed', 'processing']);
  await vi.waitFor(async () => expect(await recoverStaleProcessing(own.db)).toBe(1), 15_000); // the lock goes with the backend
  const [again] = await claim(own.db);
  if (again === undefined) throw new Error('the row was to be claimed again');
  await fail(again, () => Promise.resolve());
  expect(await each(own.db, `status || retry_count`)).toEqual(['failed3', 'failed3']);
});
