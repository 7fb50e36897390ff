import { scheduledActionFire, scheduledActionFireNow } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, insertTenant, testDb } from '@dueline/db/testing';
import { type Broker, connectBroker, DONE } from '@dueline/mq';
import { testVhost } from '@dueline/mq/testing';
import { scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { expect, onTestFinished, test } from 'vitest';
import { announceDueActions } from '../src/announce-due-actions.ts';
import { releaseLostTickets } from '../src/release-untaken.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Announced actions, `count` of lane 1 and one of lane 0, and what releases them when they are lost. */
async function announced({ count, olderThanSeconds }: { count: number; olderThanSeconds: number }) {
  const [database, vhost] = [await testDb(), await testVhost()];
  const { db } = database;
  const broker = connectBroker({ url: vhost.url, appId: 'test', log });
  onTestFinished(async () => {
    await broker.close();
    await vhost[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  await broker.ready();
  const tenant = await insertTenant(db);
  await inTransaction(db, (tx) =>
    scheduleMany(
      tx,
      Array.from({ length: count + 1 }, () => actionToSchedule(tenant)),
    ),
  );
  await db.$client.query('update scheduled_action set lane = (id > 1)::int');
  const claim = {
    claimedBy: 'a:1',
    via: 'queue',
    limit: 500,
    leaseSeconds: 60,
    maxProcessing: 5_000,
    overdueMs: 0,
  } as const;
  await announceDueActions({ db, broker, claim, onClaimed: () => undefined })();
  const reports: [string, number][] = [];
  const released = (from: Pick<Broker, 'waiting' | 'publishingLost'> = broker) =>
    releaseLostTickets({ db, broker: from, olderThanSeconds, onReleased: (...report) => reports.push(report) });
  return { db, broker, reports, released };
}

const states = (db: Db) =>
  columnOf(
    db,
    `select concat_ws(' ', count(*), status, fence, attempt, retry_count) from scheduled_action group by status, fence, attempt, retry_count order by 1`,
  );

/** Every ticket leaves the queue and reaches nobody. */
async function loseTickets(broker: Broker): Promise<number> {
  let lost = 0;
  const consumers = [scheduledActionFire, scheduledActionFireNow].map((queue) =>
    broker.consume(
      queue,
      async ({ data }) => {
        lost += data.tickets.length;
        return DONE;
      },
      { concurrency: 4 },
    ),
  );
  await broker.ready();
  await broker.settled();
  await Promise.all(consumers.map((consumer) => consumer.drain()));
  return lost;
}

test('rows of lane 0 travel on a queue of their own', async () => {
  const { broker } = await announced({ count: 250, olderThanSeconds: 30 });
  expect(await broker.waiting(scheduledActionFireNow)).toBe(1);
  expect(await broker.waiting(scheduledActionFire)).toBe(3);
});

test('[T8] rows whose tickets wait in the queue are left to it; once they are gone, two empty looks give them back with their try, never failed', async () => {
  const { db, broker, reports, released } = await announced({ count: 250, olderThanSeconds: 0 });
  const look = released();
  for (let n = 0; n < 3; n += 1) await look();
  expect(await states(db)).toEqual(['251 processing 1 1 0']);

  expect(await loseTickets(broker)).toBe(251);
  await look();
  expect(await states(db)).toEqual(['251 processing 1 1 0']);
  await look();
  expect(await states(db)).toEqual(['251 pending 2 0 0']);
  expect(reports).toEqual([['queue_empty', 251]]);
});

test('[T8] tickets that are younger may be on their way: their rows are not given back', async () => {
  const { db, broker, reports, released } = await announced({ count: 3, olderThanSeconds: 30 });
  await loseTickets(broker);
  const look = released();
  for (let n = 0; n < 4; n += 1) await look();
  expect(await states(db)).toEqual(['4 processing 1 1 0']);
  expect(reports).toEqual([]);
});

test('[T8] a lost connection for publishing gives back what nobody took, once for each loss', async () => {
  const { db, broker, reports, released } = await announced({ count: 3, olderThanSeconds: 0 });
  let lost = 0;
  const look = released({ waiting: broker.waiting, publishingLost: () => lost });
  await look();
  expect(reports).toEqual([]);
  lost = 1;
  await look();
  await look();
  expect(reports).toEqual([['connection_lost', 4]]);
  expect(await states(db)).toEqual(['4 pending 2 0 0']);
});

test('[T8] a broker that does not say what waits gives nothing back', async () => {
  const { db, broker, released } = await announced({ count: 3, olderThanSeconds: 0 });
  await broker.close();
  const look = released({ waiting: broker.waiting, publishingLost: () => 0 });
  for (let n = 0; n < 3; n += 1) await look();
  expect(await states(db)).toEqual(['4 processing 1 1 0']);
});
