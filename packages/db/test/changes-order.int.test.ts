import { setTimeout as sleep } from 'node:timers/promises';
import type { Tenant } from '@dueline/contracts';
import { inTransaction, type Tx } from '@dueline/db';
import { announceEvents, takeEvents, takeFreshEvents, untilAnnounced } from '@dueline/db/changes';
import { columnOf, insertRow, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { setAttributes } from './outbox-support.ts';

const PEOPLE = 6;
const HOUR_MS = 3_600_000;
const EVENTS = 400;

let own: TestDb;
let tenant: Tenant;
let said = 0;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  await insertUsers(own.db, tenant, PEOPLE);
});
afterEach(() => own[Symbol.asyncDispose]());

const changed = (user = 1) => setAttributes(own.db, tenant, { n: said++ }, user);
const told = (user = 1) =>
  insertRow(own.db, 'custom_event', {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: lineUserId(user) },
    ...{ name: 'purchase', idempotency_key: `${said++}` },
  });
const ids = (where = 'true') => columnOf(own.db, `select id from event_outbox where ${where} order by id`);
const take = async (tx: Tx, from = '0') => (await takeFreshEvents(tx, { limit: 100, from }))?.ids ?? [];
const takeFresh = (from = '0') => inTransaction(own.db, (tx) => take(tx, from));
const announce = async (headStartMs = 0) => {
  const tickets = await announceEvents(own.db, { limit: 500, leaseSeconds: 300, maxPublished: 20_000, headStartMs });
  return tickets.map(({ id }) => id);
};
const sql = (text: string) => own.db.$client.query(text);

test('what happened to a person is left to wait while another taker has something older of theirs in hand', async () => {
  await changed();
  const [older] = await ids();
  await inTransaction(own.db, async (tx) => {
    expect(await take(tx)).toEqual([older]);
    await changed();
    await told();
    await changed(2);
    const [, , other] = await ids(`id > ${older}`);
    expect(await takeFresh()).toEqual([other]);
    expect(await takeFresh()).toEqual([]);
  });
  const [newer, last] = await ids();
  expect(await takeFresh()).toEqual([newer]);
  expect(await takeFresh()).toEqual([last]);
});

test('it is not announced meanwhile either, and is as soon as that is decided', async () => {
  await changed();
  await inTransaction(own.db, async (tx) => {
    await take(tx);
    await changed();
    await changed(2);
    expect(await announce()).toEqual(await ids(`user_id = '${lineUserId(2)}'`));
  });
  expect(await announce()).toEqual(await ids(`user_id = '${lineUserId(1)}'`));
});

test('it is not taken while an announcer is about to announce something older of theirs', async () => {
  await changed();
  const announcer = await own.db.$client.connect();
  try {
    await announcer.query('begin');
    await announcer.query('select from event_outbox for no key update');
    await changed();
    expect(await takeFresh()).toEqual([]);
    await announcer.query('rollback');
  } finally {
    announcer.release();
  }
  const all = await ids();
  expect(await takeFresh()).toEqual(all);
});

test('what committed late, before the place from which a look reads, goes before what happened to the same person since', async () => {
  await changed();
  await changed();
  await changed(2);
  const [late, since, other] = await ids();
  expect(await takeFresh(String(since))).toEqual([other]);
  expect(await takeFresh()).toEqual([late, since]);
});

test('what was given up, and topics of a later build, hold up nobody', async () => {
  for (const user of [1, 1, 2, 2]) await changed(user);
  const [dead, behindDead, foreign, behindForeign] = await ids();
  await sql(`update event_outbox set status = 'dead', fence = fence + 1 where id = ${dead}`);
  await sql('alter table event_outbox drop constraint event_outbox_topic_known');
  await sql(`update event_outbox set topic = 'moon_landing' where id = ${foreign}`);

  expect(await takeFresh()).toEqual([behindDead]);
  expect(await announce()).toEqual([behindForeign]);
});

test('a clock that was set back does not put off what is announced', async () => {
  await changed();
  await sql(`update event_outbox set recorded_at = recorded_at + interval '2 hours'`);
  expect(await untilAnnounced(own.db, HOUR_MS)).toEqual([0]);
  expect(await announce(HOUR_MS)).toHaveLength(1);
});

test('four takers beside what is announced decide what happened to each person in order, and each event once', async () => {
  const order: string[] = [];
  const decided = async (taken: readonly string[]) => {
    await sleep(Math.random() * 4); // while it is decided, others look
    order.push(...taken);
    return taken.length;
  };
  const isDone = () => order.length >= EVENTS;
  const writer = async () => {
    for (let n = 0; n < EVENTS; n += 1) await (n % 4 === 0 ? told : changed)(1 + (n % PEOPLE));
  };
  const taker = async () => {
    while (!isDone()) await inTransaction(own.db, async (tx) => decided(await take(tx)));
  };
  const queue = async () => {
    const limits = { limit: 3, leaseSeconds: 300, maxPublished: 20_000 };
    while (!isDone()) {
      const tickets = await announceEvents(own.db, limits);
      await sleep(5); // on its way
      await inTransaction(own.db, async (tx) => decided((await takeEvents(tx, tickets)).map(({ id }) => id)));
    }
  };
  await sql('create table written (id bigint, user_id text)');
  await sql(`create function keep() returns trigger language plpgsql as $$ begin insert into written values (new.id, new.user_id); return null; end $$;
             create trigger keep after insert on event_outbox for each row execute function keep()`);
  await Promise.all([writer(), taker(), taker(), taker(), taker(), queue()]);

  const { rows } = await own.db.$client.query<{ user_id: string; ids: string[] }>(
    'select user_id, array_agg(id::text order by id) as ids from written group by user_id',
  );
  expect(rows).toHaveLength(PEOPLE);
  for (const { ids: ofPerson } of rows) expect(order.filter((id) => ofPerson.includes(id))).toEqual(ofPerson);
  expect(order).toHaveLength(EVENTS);
});
