import type { Tenant } from '@dueline/contracts';
import { inTransaction, lockUsers, type Tx } from '@dueline/db';
import { columnOf, insertTenant, insertUsers, lineUserId, lockWaiters, type TestDb, testDb } from '@dueline/db/testing';
import {
  checkAndCompleteDelayWait,
  decideBranches,
  finishActions,
  holdActions,
  scheduleAction,
  type WaitMet,
} from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { insertFact, insertThings, waitingFor } from './facts.ts';
import { claim, each, schedule, standAt } from './support.ts';

const DURING = '2026-05-01T12:00:30Z';

let own: TestDb;
let tenant: Tenant;
let things: Awaited<ReturnType<typeof insertThings>>;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  await insertUsers(own.db, tenant, 50);
  things = await insertThings(own.db, tenant);
  await standAt(own.db, '2026-05-01T12:00:00Z');
});
afterEach(() => own[Symbol.asyncDispose]());

/** Begins a transaction, does `work` and keeps it open until it is told to commit. */
async function held<T>(work: (tx: Tx) => Promise<T>): Promise<{ result: T; commit: () => Promise<void> }> {
  const worked = Promise.withResolvers<T>();
  const gate = Promise.withResolvers<void>();
  const done = inTransaction(own.db, async (tx) => {
    worked.resolve(await work(tx));
    await gate.promise;
  });
  done.catch(worked.reject);
  return {
    result: await worked.promise,
    commit: async () => {
      gate.resolve();
      await done;
    },
  };
}

const somebodyWaits = () => lockWaiters(own.db);

const click = (n = 1) =>
  insertFact(own.db, tenant, {
    table: 'link_click',
    tracked_link_id: things.linkId,
    occurred_at: DURING,
    user_id: lineUserId(n),
  });

/** What a consumer does with the event of a click. */
async function tellClick(tx: Tx, n = 1): Promise<WaitMet['result'][]> {
  const who = { ...tenant, userId: lineUserId(n) };
  await lockUsers(tx, [who]);
  const fact = {
    ...who,
    source: 'link',
    refId: things.linkId,
    occurredAt: DURING,
    eventId: crypto.randomUUID(),
  } as const;
  return (await checkAndCompleteDelayWait(tx, [fact])).map(({ result }) => result);
}

const makeWait = (tx: Tx) => scheduleAction(tx, actionToSchedule(tenant, { delay: waitingFor({ source: 'link' }) }));

/** What a worker does with a claimed row. */
async function decide(tx: Tx, tickets: Awaited<ReturnType<typeof claim>>): Promise<string[]> {
  const branched = await decideBranches(tx, await holdActions(tx, tickets));
  const moved = await finishActions(
    tx,
    branched.map(({ id, fence, branch }) => ({ id, fence, branch, to: 'done' })),
  );
  return branched.filter(({ id }) => moved.has(id)).map(({ branch }) => branch);
}

test('[T10] a click between the look of a wait that is being made and its commit is met by who tells it', async () => {
  const scheduler = await held(makeWait); // has looked, has not committed
  await click();
  const telling = inTransaction(own.db, tellClick);
  await somebodyWaits();
  await scheduler.commit();
  expect(await telling).toEqual(['completed']);
  expect(await each(own.db, `branch || ' ' || fence`)).toEqual(['clicked 1']);
});

test('[T10] a click that was told before its wait exists is met by who makes the wait', async () => {
  await click();
  const consumer = await held(tellClick);
  expect(consumer.result).toEqual([]);
  const scheduling = inTransaction(own.db, makeWait);
  await somebodyWaits();
  await consumer.commit();
  expect(await scheduling).toMatchObject({ result: 'made' });
  expect(await each(own.db, `branch || ' ' || fence`)).toEqual(['clicked 1']);
});

test('[T10] of a thousand waits that are made while their clicks come in and are told, none misses its click', async () => {
  for (let round = 0; round < 20; round += 1) {
    const people = Array.from({ length: 50 }, (_, n) => n + 1);
    await own.db.$client.query('truncate link_click; delete from scheduled_action');
    await Promise.all(
      people.flatMap((n) => [
        inTransaction(own.db, (tx) =>
          scheduleAction(
            tx,
            actionToSchedule(tenant, { userId: lineUserId(n), delay: waitingFor({ source: 'link' }) }),
          ),
        ),
        click(n).then(() => inTransaction(own.db, (tx) => tellClick(tx, n))),
      ]),
    );
    expect(await each(own.db, `branch || ' ' || fence`)).toEqual(people.map(() => 'clicked 1'));
  }
});

test('[T3] the deadline first: a click that is told while the row is decided as expired finds it over', async () => {
  await schedule(own.db, tenant, { delay: waitingFor({ source: 'link' }) });
  await standAt(own.db, '2026-05-01T12:01:00Z');
  const tickets = await claim(own.db);
  const worker = await held((tx) => decide(tx, tickets));
  expect(worker.result).toEqual(['expired']);
  await click();
  const telling = inTransaction(own.db, tellClick);
  await somebodyWaits();
  await worker.commit();
  expect(await telling).toEqual(['late']);
  expect(await each(own.db, `status || ' ' || branch`)).toEqual(['done expired']);
});

test('[T10] the click first: who claims the row after its deadline finds it on its branch', async () => {
  await schedule(own.db, tenant, { delay: waitingFor({ source: 'link' }) });
  await standAt(own.db, '2026-05-01T12:01:00Z');
  await click();
  const consumer = await held(tellClick);
  expect(consumer.result).toEqual(['completed']);
  expect(await claim(own.db)).toEqual([]); // held by the consumer
  await consumer.commit();
  const tickets = await claim(own.db);
  expect(await inTransaction(own.db, (tx) => decide(tx, tickets))).toEqual(['clicked']);
});

test('[T3] the claim first: a click told while the row is on its way is seen by its decision', async () => {
  await schedule(own.db, tenant, { delay: waitingFor({ source: 'link' }) });
  await standAt(own.db, '2026-05-01T12:01:00Z');
  const tickets = await claim(own.db);
  await click();
  expect(await inTransaction(own.db, tellClick)).toEqual(['deciding']);
  expect(await inTransaction(own.db, (tx) => decide(tx, tickets))).toEqual(['clicked']);
});

test('[T3][T10] clicks, their telling and the deadline in any order: one way each, and never expired after a click', async () => {
  const ways = new Set<string>();
  for (let round = 0; round < 12; round += 1) {
    await own.db.$client.query('truncate link_click; delete from scheduled_action');
    await standAt(own.db, '2026-05-01T12:00:00Z');
    const people = Array.from({ length: 50 }, (_, n) => n + 1);
    for (const n of people)
      await schedule(own.db, tenant, { userId: lineUserId(n), delay: waitingFor({ source: 'link' }) });
    await standAt(own.db, '2026-05-01T12:01:00Z');
    await Promise.all(people.filter((n) => n % 3 === 0).map((n) => click(n))); // committed before any decision
    const decided: string[] = [];
    const told: string[] = [];
    const workers = Array.from({ length: 4 }, async () => {
      for (
        let tickets = await claim(own.db, { limit: 3 });
        tickets.length > 0;
        tickets = await claim(own.db, { limit: 3 })
      )
        decided.push(...(await inTransaction(own.db, (tx) => decide(tx, tickets))));
    });
    const clickers = people.map(async (n) => {
      if (n % 3 !== 0) await click(n);
      told.push(...(await inTransaction(own.db, (tx) => tellClick(tx, n))));
    });
    await Promise.all([...workers, ...clickers]);
    for (let tickets = await claim(own.db); tickets.length > 0; tickets = await claim(own.db))
      decided.push(...(await inTransaction(own.db, (tx) => decide(tx, tickets))));

    expect(decided).toHaveLength(50);
    expect(told).toHaveLength(50);
    const branches = await each(own.db, `status || ' ' || branch`);
    expect(branches.filter((_, at) => (at + 1) % 3 === 0)).toEqual(Array(16).fill('done clicked'));
    for (const way of [...branches, ...told]) ways.add(String(way));
  }
  expect(ways).toContain('done clicked');
  expect(ways).toContain('completed');
});

test('people are locked in one order, so that transactions that name them in any order never deadlock', async () => {
  const people = Array.from({ length: 40 }, (_, n) => ({ ...tenant, userId: lineUserId(n + 1) }));
  const before = await columnOf(own.db, 'select deadlocks from pg_stat_database where datname = current_database()');
  await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      inTransaction(own.db, async (tx) => {
        await lockUsers(tx, n % 2 ? people : people.toReversed());
        await lockUsers(tx, people.slice(0, 3));
      }),
    ),
  );
  expect(await columnOf(own.db, 'select deadlocks from pg_stat_database where datname = current_database()')).toEqual(
    before,
  );
});
