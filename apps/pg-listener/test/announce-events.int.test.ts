import { attributeChanged, type Tickets } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { testDb } from '@dueline/db/testing';
import { type Broker, connectBroker, DONE } from '@dueline/mq';
import { testVhost } from '@dueline/mq/testing';
import { expect, onTestFinished, test } from 'vitest';
import { announceOutboxEvents } from '../src/announce-events.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const limits = { limit: 1_000, leaseSeconds: 60, maxPublished: 20_000 };

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

/** Two accounts with `users` users each; every one of them moves house. */
async function movePeople(db: Db, users: number): Promise<void> {
  for (const channelId of ['661', '662']) {
    await db.$client.query(
      `with org as (insert into organization (name) values ('test') returning id),
            account as (insert into line_oa (organization_id, channel_id, name) select id, $1, 'test' from org returning organization_id, id)
       insert into line_user (organization_id, line_oa_id, user_id)
       select organization_id, id, 'U' || lpad(to_hex(n), 32, '0') from account, generate_series(1, $2::int) as n`,
      [channelId, users],
    );
  }
  await db.$client.query(`update line_user set attributes = '{"city": "Edo"}'`);
}

const announcer = (db: Db, broker: Pick<Broker, 'publish' | 'state'>) =>
  announceOutboxEvents({ db, broker, limits, onPublished: () => undefined });

test('every event is announced once, by account, up to 100 tickets to a message, by any number of listeners [SEM-092]', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  await movePeople(db, 250);
  const received: { tenant: string; data: Tickets }[] = [];
  broker.consume(
    attributeChanged,
    async ({ tenant, data }) => {
      received.push({ tenant: tenant.lineOaId, data });
      return DONE;
    },
    { concurrency: 4 },
  );
  await broker.ready();

  const listeners = [announcer(db, broker), announcer(db, broker), announcer(db, broker)];
  await Promise.all(
    listeners.map(async (announce) => {
      while (await announce());
    }),
  );
  await broker.settled();

  const ids = received.flatMap(({ data }) => data.tickets.map(({ id }) => id));
  expect(ids).toHaveLength(500);
  expect(new Set(ids).size).toBe(500);
  for (const { tenant, data } of received) {
    const { rows } = await db.$client.query('select distinct line_oa_id as id from event_outbox where id = any($1)', [
      data.tickets.map(({ id }) => id),
    ]);
    expect(rows).toEqual([{ id: tenant }]);
  }
});

test('while the broker is away nothing is claimed; what it refused is announced again at once', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  await movePeople(db, 3);
  const away = announcer(db, { publish: broker.publish, state: () => 'connecting' });
  const refusing = announcer(db, {
    publish: async (_queue, messages) => messages.map(() => ({ ok: false, reason: 'nacked' }) as const),
    state: () => 'ready',
  });

  expect(await away()).toBe(false);
  expect(await statuses(db)).toEqual({ pending: 6 });
  expect(await refusing()).toBe(false);
  expect(await announcer(db, broker)()).toBe(true);
  expect(await statuses(db)).toEqual({ published: 6 });
});

async function statuses(db: Db): Promise<Record<string, number>> {
  const { rows } = await db.$client.query<{ status: string; count: number }>(
    `select status, count(*)::int as count from event_outbox where status = 'pending' or lease_until > clock_timestamp() group by 1`,
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}
