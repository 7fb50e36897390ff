import {
  attributeChanged,
  bookingEvent,
  campaignClick,
  customEvent,
  deliverySettled,
  EVENT_TOPICS,
  formSubmitted,
  friendTrackEventInserted,
  type Queue,
  type Tickets,
} from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { insertRow, insertTenant, lineUserId, testDb } from '@dueline/db/testing';
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

type Row = Record<string, unknown>;

/** A plain insert that makes an event of each topic. */
const FACTS: [queue: Queue<Tickets>, happen: (db: Db, person: Row) => Promise<unknown>][] = [
  [attributeChanged, (db, person) => insertRow(db, 'line_user', { ...person, attributes: { city: 'Edo' } })],
  [
    formSubmitted,
    async (db, { user_id, ...base }) => {
      const { id } = await insertRow(db, 'form', { ...base, name: 'form' });
      await insertRow(db, 'form_submission', { ...base, user_id, form_id: id, idempotency_key: 'x' });
    },
  ],
  [
    campaignClick,
    async (db, { user_id, ...base }) => {
      const { id } = await insertRow(db, 'tracked_link', { ...base, name: 'link', url: 'https://example.com' });
      await insertRow(db, 'link_click', { ...base, user_id, tracked_link_id: id, idempotency_key: 'x' });
    },
  ],
  [
    friendTrackEventInserted,
    (db, person) => insertRow(db, 'friend_track_event', { ...person, type: 'follow', webhook_event_id: 'x' }),
  ],
  [
    bookingEvent,
    async (db, person) => {
      const { id } = await insertRow(db, 'booking', { ...person, name: 'cut', starts_at: '2030-01-01' });
      await insertRow(db, 'booking_event', { ...person, booking_id: id, type: 'created', idempotency_key: 'x' });
    },
  ],
  [customEvent, (db, person) => insertRow(db, 'custom_event', { ...person, name: 'purchase', idempotency_key: 'x' })],
  [
    deliverySettled,
    async (db, person) => {
      await insertRow(db, 'delivery', {
        ...{ ...person, kind: 'action', logical_id: '1', endpoint: 'push', retry_key: crypto.randomUUID() },
        ...{ body: '{}', body_sha256: '', deliver_until: new Date(), announce_end: true },
      });
      await db.$client.query(`update delivery set status = 'cancelled', fence = fence + 1`);
    },
  ],
];

test('a plain insert of each kind of fact reaches the queue of its topic, and no other', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  const tenant = await insertTenant(db);
  const person = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: lineUserId(1) };
  for (const [, happen] of FACTS) await happen(db, person);
  const received: { queue: string; ids: string[] }[] = [];
  for (const [queue] of FACTS) {
    broker.consume(
      queue,
      async ({ data }) => {
        received.push({ queue: queue.name, ids: data.tickets.map(({ id }) => id) });
        return DONE;
      },
      { concurrency: 1 },
    );
  }
  await broker.ready();

  expect(await announcer(db, broker)()).toBe(true);
  await expect.poll(() => received.length).toBe(EVENT_TOPICS.length);

  const { rows } = await db.$client.query(
    'select topic as queue, array[id::text] as ids from event_outbox order by topic',
  );
  expect(received.sort((a, b) => (a.queue < b.queue ? -1 : 1))).toEqual(rows);
  expect(rows.map(({ queue }) => queue)).toEqual([...EVENT_TOPICS].sort());
});

test('an event of a topic that only a later build knows is left to it, and holds up nothing', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  await movePeople(db, 1);
  await db.$client.query('alter table event_outbox drop constraint event_outbox_topic_known');
  await db.$client.query(
    `update event_outbox set topic = 'moon_landing' where id = (select min(id) from event_outbox)`,
  );

  while (await announcer(db, broker)());

  const { rows } = await db.$client.query('select topic, status from event_outbox order by id');
  expect(rows).toEqual([
    { topic: 'moon_landing', status: 'pending' },
    { topic: 'attribute_changed', status: 'published' },
  ]);
});
