import { actionExecute, lineDeliveryChunk, scheduledActionFire } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { testDb } from '@dueline/db/testing';
import { type Broker, connectBroker, DONE } from '@dueline/mq';
import { testVhost } from '@dueline/mq/testing';
import { expect, onTestFinished, test } from 'vitest';
import { announceDueActions } from '../src/announce-due-actions.ts';
import { announceDueDeliveries } from '../src/announce-due-deliveries.ts';
import { recoverRows } from '../src/recover.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

async function connect(): Promise<Broker> {
  const vhost = await testVhost();
  const broker = connectBroker({ url: vhost.url, appId: 'test', log });
  onTestFinished(async () => {
    await broker.close();
    await vhost[Symbol.asyncDispose]();
  });
  await broker.ready();
  return broker;
}

const ACCOUNT = `with org as (insert into organization (name) values ('test') returning id),
  account as (insert into line_oa (organization_id, channel_id, name) select id, '881', 'test' from org returning organization_id, id)`;

const insertDueActions = (db: Db, actions: number) =>
  db.$client.query(
    `${ACCOUNT} insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, execute_at, due_at, dedup_key)
     select organization_id, id, 'U' || lpad(to_hex(n), 32, '0'), 'send_message', '{}', app_now(), app_now(), 'test:' || n
       from account, generate_series(1, $1::int) as n`,
    [actions],
  );

const insertDeliveries = (db: Db, deliveries: number) =>
  db.$client.query(
    `${ACCOUNT} insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, retry_key, body, body_sha256, deliver_until)
     select organization_id, id, 'action', n, 'push', gen_random_uuid(), '', '', app_now() + interval '1 hour'
       from account, generate_series(1, $1::int) as n`,
    [deliveries],
  );

const announcer = (db: Db, broker: Pick<Broker, 'publish' | 'state'>, claimedBy: string) =>
  announceDueActions({
    db,
    broker,
    claim: { claimedBy, via: 'queue', limit: 500, leaseSeconds: 60, maxProcessing: 5_000, overdueMs: 0 },
    onClaimed: () => undefined,
  });

async function ticketsOn(broker: Broker, queue: typeof actionExecute): Promise<string[]> {
  const ids: string[] = [];
  const consumer = broker.consume(
    queue,
    async ({ data }) => {
      ids.push(...data.tickets.map(({ id }) => id));
      return DONE;
    },
    { concurrency: 4 },
  );
  await broker.ready();
  await broker.settled();
  await consumer.drain();
  return ids;
}

async function statuses(db: Db, table: string): Promise<Record<string, number>> {
  const { rows } = await db.$client.query<{ status: string; count: number }>(
    `select status, count(*)::int as count from ${table} group by 1`,
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

test('everything due is announced once, by any number of schedulers', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  await insertDueActions(db, 1_200);

  await Promise.all(
    ['a:1', 'b:1', 'c:1'].map(async (claimedBy) => {
      const announce = announcer(db, broker, claimedBy);
      while (await announce());
    }),
  );

  const ids = await ticketsOn(broker, scheduledActionFire);
  expect(ids).toHaveLength(1_200);
  expect(new Set(ids).size).toBe(1_200);
  expect(await statuses(db, 'scheduled_action')).toEqual({ processing: 1_200 });
});

test('while the broker is away nothing is claimed; rows whose ticket it refused are pending again at once, with their try back', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  await insertDueActions(db, 7);

  expect(await announcer(db, { publish: broker.publish, state: () => 'blocked' }, 'a:1')()).toBe(false);
  expect(await statuses(db, 'scheduled_action')).toEqual({ pending: 7 });
  const refuse: Broker['publish'] = async (_queue, messages) =>
    messages.map(() => ({ ok: false, reason: 'timeout' }) as const);
  expect(await announcer(db, { publish: refuse, state: () => 'ready' }, 'a:1')()).toBe(false);

  const { rows } = await db.$client.query('select status, attempt, fence from scheduled_action group by 1, 2, 3');
  expect(rows).toEqual([{ status: 'pending', attempt: 0, fence: '2' }]);
});

test('a delivery whose ticket was lost is announced, once per wait, and its queued ticket stays good', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  await insertDeliveries(db, 620);
  const announce = announceDueDeliveries({ db, broker, againAfterSeconds: 60 });

  await announce();
  await announce();

  expect(await ticketsOn(broker, actionExecute)).toHaveLength(620);
  const { rows } = await db.$client.query('select fence, announce_count from delivery group by 1, 2');
  expect(rows).toEqual([{ fence: '0', announce_count: 1 }]);
});

test('chunks of campaigns are announced on their own queue', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  await insertDeliveries(db, 2);
  await db.$client.query(
    `with campaign as (insert into campaign (organization_id, line_oa_id, name, cast_type) select organization_id, id, 'test', 'broadcast' from line_oa
       returning organization_id, line_oa_id, id)
     insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, campaign_id, chunk_no, retry_key, body, body_sha256, deliver_until)
     select organization_id, line_oa_id, 'campaign', id, 'broadcast', id, 0, gen_random_uuid(), '', '', app_now() + interval '1 hour' from campaign`,
  );

  await announceDueDeliveries({ db, broker, againAfterSeconds: 60 })();

  expect(await ticketsOn(broker, actionExecute)).toEqual(['1', '2']);
  expect(await ticketsOn(broker, lineDeliveryChunk)).toEqual(['3']);
});

test('rows of dead workers come back, and the report says how many', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  await insertDueActions(db, 3);
  await announcer(db, broker, 'dead:1')();
  await db.$client.query(
    `update scheduled_action set lease_until = clock_timestamp() - interval '1 second' where id in (select min(id) from scheduled_action)`,
  );
  const reports: [string, number][] = [];

  await recoverRows({ db, onRecovered: (what, count) => reports.push([what, count]) })();

  expect(reports).toEqual([['scheduled_action', 1]]);
  expect(await statuses(db, 'scheduled_action')).toEqual({ pending: 1, processing: 2 });
});
