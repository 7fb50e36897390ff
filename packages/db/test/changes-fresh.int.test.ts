import type { Tenant } from '@dueline/contracts';
import { inTransaction, openDatabase, takeInHand } from '@dueline/db';
import {
  announceEvents,
  claimEvents,
  recoverEventsInHand,
  takeEvents,
  takeFreshEvents,
  untilAnnounced,
} from '@dueline/db/changes';
import { columnOf, insertRow, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { setAttributes } from './outbox-support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const HOUR_MS = 3_600_000;
const LIMITS = { limit: 500, leaseSeconds: 300, maxPublished: 20_000 };
const announce = (headStartMs = 0) => announceEvents(own.db, { ...LIMITS, headStartMs });
const takeFresh = async (limit = 100): Promise<readonly string[]> =>
  inTransaction(own.db, async (tx) => (await takeFreshEvents(tx, { limit }))?.ids ?? []);
const ids = (where = 'true') => columnOf(own.db, `select id from event_outbox where ${where} order by id`);
const change = (sql: string) => own.db.$client.query(`update event_outbox set ${sql}`);

/** One event of each person, in the order of their numbers. */
async function makeEvents(count: number): Promise<void> {
  await insertUsers(own.db, tenant, count);
  await own.db.$client.query(`update line_user set attributes = '{"a": 1}' where line_oa_id = $1`, [tenant.lineOaId]);
}

test('what just happened is taken oldest first, whole, and then stands in the archive', async () => {
  await makeEvents(5);
  const [first, second, ...others] = await ids();

  const events = await inTransaction(own.db, async (tx) => (await takeFreshEvents(tx, { limit: 2 }))?.read());

  expect(events?.map(({ id }) => id)).toEqual([first, second]);
  expect(events?.[0]).toMatchObject({ ...tenant, topic: 'attribute_changed', changed: new Map([['a', { to: 1 }]]) });
  expect(await ids()).toEqual(others);
  expect(await columnOf(own.db, 'select event_id from event_archive order by event_id')).toEqual(
    events?.map(({ eventId }) => eventId).sort(),
  );
  expect(await takeFresh()).toEqual(others);
  expect(await takeFresh()).toEqual([]);
});

test('crowds, what must be decided alone, what was announced or given up, and topics of a later build are left', async () => {
  await makeEvents(6);
  const [crowd, suspect, announced, dead, foreign, fresh] = await ids();
  await change(`bulk = true where id = ${crowd}`);
  await change(`alone = true where id = ${suspect}`);
  await claimEvents(own.db, [String(announced), String(dead)], { leaseSeconds: 60, suspects: [] });
  await change(`status = 'dead', fence = fence + 1, lease_until = null where id = ${dead}`);
  await own.db.$client.query('alter table event_outbox drop constraint event_outbox_topic_known');
  await change(`topic = 'moon_landing' where id = ${foreign}`);

  expect(await takeFresh()).toEqual([fresh]);
  expect(await takeFresh()).toEqual([]);
});

test('one transaction takes events of one topic, that of the oldest', async () => {
  await makeEvents(2);
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: lineUserId(1) };
  await insertRow(own.db, 'custom_event', { ...base, name: 'purchase', idempotency_key: 'x' });
  await setAttributes(own.db, tenant, { a: 2 }, 2);
  await setAttributes(own.db, tenant, { a: 2 });
  const [first, second, other, third, behindOther] = await ids();

  expect(await takeFresh()).toEqual([first, second, third]);
  expect(await takeFresh()).toEqual([other]);
  expect(await takeFresh()).toEqual([behindOther]);
});

test.for(['bulk', 'alone', 'announced'])(
  'what happened to a person is left while something older of theirs goes the long way: %s',
  async (way) => {
    await insertUsers(own.db, tenant, 2);
    await setAttributes(own.db, tenant, { a: 1 });
    const [older] = await ids();
    if (way === 'announced') await announce();
    else await change(`${way} = true`);
    await setAttributes(own.db, tenant, { a: 2 });
    await setAttributes(own.db, tenant, { a: 2 }, 2);
    const [newer, other] = await ids(`id > ${older}`);

    expect(await takeFresh()).toEqual([other]);
    await own.db.$client.query(`delete from event_outbox where id = ${older}`);
    expect(await takeFresh()).toEqual([newer]);
  },
);

test('of eight takers and two announcers at once each of 1,000 events goes to one', async () => {
  await makeEvents(1_000);
  const taker = async () => {
    const found: string[] = [];
    for (let batch = await takeFresh(20); batch.length > 0; batch = await takeFresh(20)) found.push(...batch);
    return found;
  };
  const announcer = async () => {
    const tickets = await announceEvents(own.db, { ...LIMITS, limit: 100 });
    return (await inTransaction(own.db, (tx) => takeEvents(tx, tickets))).map(({ id }) => id);
  };
  const taken = (await Promise.all([...Array.from({ length: 8 }, taker), announcer(), announcer()])).flat();

  expect(taken).toHaveLength(1_000);
  expect(new Set(taken).size).toBe(1_000);
});

test('a taker waits for nobody, and when it rolls back nothing has happened', async () => {
  await makeEvents(3);
  const all = await ids();
  await inTransaction(own.db, async (tx) => {
    expect((await takeFreshEvents(tx, { limit: 2 }))?.ids).toEqual(all.slice(0, 2));
    expect(await takeFresh()).toEqual(all.slice(2));
    expect(await announce()).toEqual([]);
    throw new Error('undecidable');
  }).catch(() => undefined);

  expect(await takeFresh()).toEqual(all.slice(0, 2));
  expect(await columnOf(own.db, 'select count(*) from event_archive')).toEqual(['3']);
});

test('events of a batch that failed are claimed once, under tickets that are good, and suspects to be decided alone', async () => {
  await makeEvents(3);
  const [taken, suspect, good] = await ids();
  expect(await takeFresh(1)).toEqual([taken]);
  const all = [taken, suspect, good].map(String);

  const tickets = await claimEvents(own.db, all, { leaseSeconds: 60, suspects: [String(suspect)] });

  expect(tickets.map(({ id }) => id).sort()).toEqual([suspect, good]);
  expect(await claimEvents(own.db, all, { leaseSeconds: 60, suspects: [] })).toEqual([]);
  expect(await takeFresh()).toEqual([]);
  const events = await inTransaction(own.db, (tx) => takeEvents(tx, tickets));
  expect(events.map(({ id }) => id)).toEqual([good]);
});

test('what an announcer leaves to takers it announces once the head start is over, crowds and suspects at once', async () => {
  await makeEvents(4);
  const [, suspect, crowd] = await ids();
  expect(await announce(HOUR_MS)).toEqual([]);

  await change(`alone = true where id = ${suspect}`);
  expect(await announce(HOUR_MS)).toHaveLength(2); // with the older one, so that both stay in order
  await change(`bulk = true where id = ${crowd}`);
  expect((await announce(HOUR_MS)).map(({ id }) => id)).toEqual([crowd]);

  expect(await announce(HOUR_MS)).toEqual([]);
  await change(`recorded_at = recorded_at - interval '2 hours'`);
  expect(await announce(HOUR_MS)).toHaveLength(1);
});

test('an announcer is told when the head start of the oldest is over', async () => {
  expect(await untilAnnounced(own.db, HOUR_MS)).toEqual([]);
  await makeEvents(2);
  const [wait] = await untilAnnounced(own.db, HOUR_MS);
  expect(wait).toBeGreaterThan(HOUR_MS - 60_000);
  expect(wait).toBeLessThanOrEqual(HOUR_MS);
  await change(`recorded_at = recorded_at - interval '2 hours'`);
  expect(await untilAnnounced(own.db, HOUR_MS)).toEqual([0]);
});

test('what a dead process had taken is decided alone from then on, and announced for that', async () => {
  await makeEvents(3);
  const [first, second, third] = (await ids()).map(String);
  const die = (claimedBy: string, hand: (string | undefined)[]) =>
    takeInHand(own.db, { claimedBy, kind: 'event', ids: hand.map(String), leaseSeconds: -1 });
  await die('a:1', [first, second]);
  await die('b:1', [third]);

  expect(await recoverEventsInHand(own.db, { leaseOver: true })).toBe(1);

  expect(await takeFresh()).toEqual([]);
  expect(await columnOf(own.db, `select rescue_count || ' ' || attempts from event_outbox order by id`)).toEqual([
    '0 0',
    '0 0',
    '1 1',
  ]);
  expect(await announce(HOUR_MS)).toHaveLength(3);
});

test('whoever began on an empty outbox reads as many events as it takes, however many of a crowd wait and are announced', async () => {
  const count = 3_000;
  await insertUsers(own.db, tenant, count);
  await own.db.$client.query('vacuum analyze event_outbox');
  const worker = openDatabase({
    ...{ url: own.url, applicationName: 'test', maxConnections: 1, readsByIndex: true },
    onError: () => undefined, // none is expected, and the next statement would tell
  });
  const take = () => inTransaction(worker.db, async (tx) => (await takeFreshEvents(tx, { limit: 10 }))?.ids.length);
  const rowsRead = async () => {
    await worker.db.$client.query('select pg_stat_force_next_flush()');
    const [read] = await columnOf(
      worker.db,
      `select (select seq_tup_read from pg_stat_user_tables where relname = 'event_outbox')
            + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'event_outbox' and indexrelname <> 'idx_event_outbox_fresh')`,
    );
    return Number(read);
  };
  try {
    for (let times = 0; times < 8; times += 1) await take(); // a plan is kept from the sixth time on
    await own.db.$client.query(`update line_user set attributes = '{"a": 1}'`);
    await announceEvents(own.db, { ...LIMITS, limit: 1_500 });
    await insertUsers(own.db, await insertTenant(own.db), 40);
    await own.db.$client.query(`update line_user set attributes = '{"a": 1}' where line_oa_id <> ${tenant.lineOaId}`);

    const before = await rowsRead();
    for (let times = 0; times < 4; times += 1) expect(await take()).toBe(10);
    expect((await rowsRead()) - before).toBeLessThan(300);
  } finally {
    await worker.close();
  }
});
