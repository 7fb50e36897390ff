import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, sql } from '@dueline/db';
import { announceEvents, type EventTicket, failEvent, outboxLag, releaseEvents, takeEvents } from '@dueline/db/changes';
import { columnOf, insertTenant, insertUsers, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const LIMITS = { limit: 500, leaseSeconds: 300, maxPublished: 20_000 };
const announce = (limits: Partial<typeof LIMITS> = {}) => announceEvents(own.db, { ...LIMITS, ...limits });
const take = (tickets: readonly EventTicket[], whose = tenant, db: Db = own.db) =>
  inTransaction(db, (tx) =>
    takeEvents(
      tx,
      tickets.map((ticket) => ({ ...ticket, ...whose })),
    ),
  );
const endLeases = () =>
  own.db.$client.query(
    `update event_outbox set lease_until = clock_timestamp() - interval '1 s' where status = 'published'`,
  );
const statuses = () => columnOf(own.db, 'select distinct status from event_outbox');

async function makeEvents(count: number): Promise<void> {
  await insertUsers(own.db, tenant, count);
  await own.db.$client.query(`update line_user set attributes = '{"a": 1}' where line_oa_id = $1`, [tenant.lineOaId]);
}

test('eight announcers at once announce each of 2,000 events once', async () => {
  await makeEvents(2_000);
  const announcer = async () => {
    const found: EventTicket[] = [];
    for (let batch = await announce({ limit: 100 }); batch.length > 0; batch = await announce({ limit: 100 }))
      found.push(...batch);
    return found;
  };
  const tickets = (await Promise.all(Array.from({ length: 8 }, announcer))).flat();
  expect(tickets).toHaveLength(2_000);
  expect(new Set(tickets.map(({ id }) => id)).size).toBe(2_000);
  expect(new Set(tickets.map(({ fence, topic, lineOaId }) => `${fence} ${topic} ${lineOaId}`))).toEqual(
    new Set([`1 attribute_changed ${tenant.lineOaId}`]),
  );
});

test('the oldest come first, at most `limit` a call and `maxPublished` at a time', async () => {
  await makeEvents(30);
  const ids = await columnOf(own.db, 'select id from event_outbox order by id');
  const first = await announce({ limit: 10, maxPublished: 25 });
  expect(first.map(({ id }) => id)).toEqual(ids.slice(0, 10));
  expect(await announce({ limit: 10, maxPublished: 25 })).toHaveLength(10);
  expect(await announce({ limit: 10, maxPublished: 25 })).toHaveLength(5);
  expect(await announce({ limit: 10, maxPublished: 25 })).toHaveLength(0);
  await take(first);
  expect(await announce({ limit: 20, maxPublished: 25 })).toHaveLength(5);
});

test('an event that nobody took is announced again after its lease, with the same fence, before new ones', async () => {
  await makeEvents(5);
  const first = await announce({ limit: 3 });
  expect(await announce({ limit: 0 })).toEqual([]);
  await endLeases();
  expect(await announce({ limit: 3 })).toEqual(first);
  expect(await announce({ limit: 3 })).toHaveLength(2);
});

test('a released event is announced again at once, with the same fence', async () => {
  await makeEvents(3);
  const first = await announce();
  await releaseEvents(own.db, first.slice(0, 2));
  await releaseEvents(own.db, []);
  await releaseEvents(
    own.db,
    first.slice(2).map((ticket) => ({ ...ticket, fence: '7' })),
  ); // not this one's
  expect(await announce()).toEqual(first.slice(0, 2));
});

test('an event is taken once, whole, and then stands in the archive', async () => {
  await makeEvents(2);
  const tickets = await announce();
  const events = await take([...tickets, ...tickets]); // a message may name a ticket twice
  expect(events.map(({ id }) => id)).toEqual(tickets.map(({ id }) => id));
  expect(events[0]).toMatchObject({ ...tenant, topic: 'attribute_changed', bulk: false, depth: 0, causeId: null });
  expect(events[0]).toMatchObject({ changed: new Map([['a', { to: 1 }]]) });
  expect(events[0]?.rootId).toBe(events[0]?.eventId);
  expect(await take(tickets)).toEqual([]);
  expect(await columnOf(own.db, 'select event_id from event_archive order by event_id')).toEqual(
    events.map(({ eventId }) => eventId).sort(),
  );
  expect(await outboxLag(own.db)).toEqual({ rows: 0, oldestSeconds: 0 });
});

test('a stale fence, another tenant, an unannounced and an unknown event take nothing', async () => {
  await makeEvents(2);
  const [ticket] = await announce({ limit: 1 });
  if (ticket === undefined) throw new Error('nothing announced');
  const ids = await columnOf(own.db, `select id from event_outbox where status = 'pending'`);
  const stranger = await insertTenant(own.db);
  expect(await take([{ ...ticket, fence: '0' }])).toEqual([]);
  expect(await take([{ ...ticket, fence: '2' }])).toEqual([]);
  expect(await take([ticket], stranger)).toEqual([]);
  expect(await take([ticket], { ...tenant, organizationId: stranger.organizationId })).toEqual([]);
  expect(await take([{ ...ticket, id: String(ids[0]), fence: '0' }])).toEqual([]);
  expect(await take([{ ...ticket, id: '999999' }])).toEqual([]);
  expect(await take([])).toEqual([]);
  expect(await take([ticket])).toHaveLength(1);
});

test('of two takers of the same tickets, in either order, each event goes to one', async () => {
  await makeEvents(200);
  const tickets = await announce();
  const taken = await Promise.all([take(tickets), take(tickets.toReversed()), take(tickets.slice(50, 150))]);
  expect(
    taken
      .flat()
      .map(({ id }) => Number(id))
      .sort((a, b) => a - b),
  ).toEqual(tickets.map(({ id }) => Number(id)));
});

test('a deciding transaction that rolls back leaves its events to the next one', async () => {
  await makeEvents(1);
  const tickets = await announce();
  const failed = inTransaction(own.db, async (tx) => {
    await takeEvents(tx, tickets);
    throw new Error('undecidable');
  });
  await expect(failed).rejects.toThrow('undecidable');
  expect(await columnOf(own.db, 'select count(*) from event_archive')).toEqual(['0']);
  expect(await take(tickets)).toHaveLength(1);
});

test('announcing does not wait for a deciding transaction that holds an event', async () => {
  await makeEvents(3);
  const tickets = await announce({ limit: 2 });
  await endLeases();
  await inTransaction(own.db, async (tx) => {
    await takeEvents(tx, tickets.slice(0, 1));
    const again = await announce();
    expect(again.map(({ id }) => id)).not.toContain(tickets[0]?.id);
    expect(again).toHaveLength(2);
  });
});

test('a failed decision leaves the event for 5 s, 10 s … 10 min with the same ticket, and the 20th makes it dead', async () => {
  await makeEvents(1);
  const [ticket] = await announce();
  if (ticket === undefined) throw new Error('nothing announced');
  await inTransaction(own.db, (tx) => failEvent(tx, { ...ticket, fence: '9' })); // a stale one counts nothing
  const waits: number[] = [];
  for (let failure = 1; failure < 20; failure += 1) {
    await inTransaction(own.db, (tx) => failEvent(tx, ticket));
    const [seconds] = await columnOf(
      own.db,
      'select extract(epoch from lease_until - clock_timestamp()) from event_outbox',
    );
    waits.push(Math.round(Number(seconds)));
    expect(await announce()).toEqual([]);
    await endLeases();
    expect(await announce()).toEqual([ticket]);
  }
  expect(waits).toEqual([5, 10, 20, 40, 80, 160, 320, ...Array(12).fill(600)]);
  await inTransaction(own.db, (tx) => failEvent(tx, ticket));
  expect(await statuses()).toEqual(['dead']);
  expect(await take([ticket])).toEqual([]);
  expect(await announce()).toEqual([]);
  expect(await outboxLag(own.db)).toMatchObject({ rows: 0 });
});

test('the lag counts what is not decided and the age of the oldest', async () => {
  await makeEvents(3);
  await announce({ limit: 1 });
  await inTransaction(own.db, (tx) =>
    tx.execute(sql`update event_outbox set occurred_at = app_now() - interval '90 s' where status = 'pending'`),
  );
  const { rows, oldestSeconds } = await outboxLag(own.db);
  expect(rows).toBe(3);
  expect(oldestSeconds).toBeGreaterThanOrEqual(90);
  expect(oldestSeconds).toBeLessThan(100);
});
