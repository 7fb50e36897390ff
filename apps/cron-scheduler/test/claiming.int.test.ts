import { type Db, inTransaction } from '@dueline/db';
import { insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { createLog, createMetrics } from '@dueline/runtime';
import { claimBatch, createDueAccounts, DUE_CHANNEL, dueWithin, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { startClaiming } from '@dueline/worker-app';
import { expect, onTestFinished, test } from 'vitest';

const ROWS = 9;

/** A claimer as the apps have it; tells when it claimed a row. */
async function claimer(own: TestDb, { listens }: { listens: boolean }) {
  const { db } = own;
  const claimedAt = new Map<string, number>();
  const steps: (() => Promise<void>)[] = [];
  const metrics = createMetrics({ service: 'test' });
  const list = { accounts: createDueAccounts(), graceSeconds: 15 };
  startClaiming(
    {
      metrics,
      log: createLog({ service: 'test', level: 'fatal', instance: 'test' }),
      onStop: (_name, stop) => void steps.unshift(async () => void (await stop())),
    },
    {
      name: 'claim',
      lookAhead: (withinMs) => dueWithin(db, withinMs, list),
      run: async () => {
        const claim = {
          claimedBy: 'a:1',
          via: 'inline',
          limit: 100,
          leaseSeconds: 60,
          maxProcessing: 5_000,
          overdueMs: 0,
        } as const;
        const tickets = await claimBatch(db, { ...claim, ...list });
        for (const { id } of tickets) claimedAt.set(id, performance.now());
        return tickets.length > 0;
      },
      listen: listens ? { url: own.url, channel: DUE_CHANNEL } : undefined,
      onWake: list.accounts.wake,
    },
  );
  onTestFinished(async () => {
    for (const stop of steps) await stop();
    await own[Symbol.asyncDispose]();
  });
  const isListening = async () => (await metrics.text()).includes('dueline_listener_connected 1');
  return { claimedAt, isListening };
}

/** Milliseconds until each of some rows, made one after the other, is claimed; the median. */
async function lateness(db: Db, claimedAt: ReadonlyMap<string, number>): Promise<number> {
  const waits: number[] = [];
  for (let n = 0; n < ROWS; n += 1) {
    const tenant = await insertTenant(db); // whose account no list has
    const [made] = await inTransaction(db, (tx) => scheduleMany(tx, [actionToSchedule(tenant)]));
    const id = made?.result === 'made' ? made.id : '';
    const madeAt = performance.now();
    await expect.poll(() => claimedAt.has(id), { interval: 5, timeout: 20_000 }).toBe(true);
    waits.push((claimedAt.get(id) ?? Number.NaN) - madeAt);
  }
  return waits.sort((left, right) => left - right)[Math.floor(ROWS / 2)] ?? Number.NaN;
}

test('a row that is due at once is claimed at once, though nobody looks within a second', async () => {
  const own = await testDb();
  const { claimedAt, isListening } = await claimer(own, { listens: true });
  await expect.poll(isListening).toBe(true);
  expect(await lateness(own.db, claimedAt)).toBeLessThan(250); // on loaded machines; by looks alone it is 500
});

test('without LISTEN, or while it is killed over and over, rows are claimed late and not lost', async () => {
  const own = await testDb();
  const { claimedAt } = await claimer(own, { listens: true });
  const kills = setInterval(() => {
    own.db.$client
      .query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'listen ${DUE_CHANNEL}' and datname = current_database()`,
      )
      .catch(() => undefined); // one kill more or less
  }, 20);
  onTestFinished(() => clearInterval(kills));
  expect(await lateness(own.db, claimedAt)).toBeLessThan(5_000);
  clearInterval(kills);

  const other = await testDb();
  const deaf = await claimer(other, { listens: false });
  expect(await lateness(other.db, deaf.claimedAt)).toBeLessThan(5_000);
});
