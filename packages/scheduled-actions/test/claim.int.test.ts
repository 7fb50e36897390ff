import type { Tenant, TenantTicket } from '@dueline/contracts';
import { inTransaction, openDatabase } from '@dueline/db';
import { columnOf, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { dueWithin, holdDue, releaseActions, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CLAIM, claim, each, schedule } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const query = (text: string) => own.db.$client.query(text);

test('twenty claimers of both profiles at once never get a row twice, nor more than they asked for', async () => {
  await schedule(own.db, tenant, { count: 1_000 });
  const claimer = async (via: 'queue' | 'inline') => {
    const mine: TenantTicket[] = [];
    for (;;) {
      const tickets = await claim(own.db, { via, limit: 17 });
      expect(tickets.length).toBeLessThanOrEqual(17);
      if (tickets.length === 0) return mine;
      mine.push(...tickets);
    }
  };
  const claimed = (await Promise.all(Array.from({ length: 20 }, (_, n) => claimer(n % 2 ? 'queue' : 'inline')))).flat();
  expect(claimed).toHaveLength(1_000);
  expect(new Set(claimed.map(({ id }) => id)).size).toBe(1_000);
  expect(new Set(await each(own.db, `status || fence || attempt`))).toEqual(new Set(['processing11']));
});

test.for([1, 2, 7])('limit %i claims exactly that many, oldest due first, by whatever join', async (limit) => {
  const ids = await schedule(own.db, tenant, { count: 100 });
  for (const join of ['hashjoin', 'mergejoin', 'nestloop']) {
    await query(`alter role postgres in database ${new URL(own.url).pathname.slice(1)} set enable_${join} = off`);
    const tickets = await claim(own.db, { limit });
    expect(tickets.map(({ id }) => id).sort()).toEqual(ids.splice(0, limit).sort());
  }
});

test('what is taken comes oldest first, wherever it lies', async () => {
  const ids = await schedule(own.db, tenant, { count: 5 });
  await query(
    `update scheduled_action set last_error = 'lies behind the others now' where id in (${ids[0]}, ${ids[2]})`,
  );
  const held = await inTransaction(own.db, (tx) => holdDue(tx, { ...CLAIM, via: 'inline' }));
  expect(held.map(({ id }) => id)).toEqual(ids);
  expect((await claim(own.db)).map(({ id }) => id)).toEqual(ids);
});

test('the cap counts the rows of the same profile only, leaves room for what fits, and no account takes more than half', async () => {
  const other = await insertTenant(own.db);
  await schedule(own.db, tenant, { count: 30 });
  expect(await claim(own.db, { maxProcessing: 10 })).toHaveLength(5);
  expect(await claim(own.db, { maxProcessing: 10 })).toHaveLength(0);
  await schedule(own.db, other, { count: 30 });
  expect(await claim(own.db, { maxProcessing: 10 })).toHaveLength(5);
  expect(await claim(own.db, { maxProcessing: 10 })).toHaveLength(0);
  expect(await claim(own.db, { maxProcessing: 13 })).toHaveLength(3);
  expect(await claim(own.db, { maxProcessing: 5 })).toHaveLength(0);
  expect(await claim(own.db, { maxProcessing: 10, via: 'inline' })).toHaveLength(10);
});

test('a row that another transaction refers to is claimed all the same', async () => {
  await query('create table child (action_id bigint references scheduled_action (id))');
  const [id] = await schedule(own.db, tenant);
  const client = await own.db.$client.connect();
  await client.query('begin');
  await client.query(`insert into child values (${id})`);
  expect(await claim(own.db)).toHaveLength(1);
  await client.query('rollback');
  client.release();
});

test('nothing is claimed a millisecond early, and everything at its instant', async () => {
  await query(
    `create or replace function app_now() returns timestamptz language sql stable as $$ select timestamptz '2026-12-31 23:59:59.999Z' $$`,
  );
  await schedule(own.db, tenant, { delaySeconds: 60 });
  const at = (instant: string) =>
    query(
      `create or replace function app_now() returns timestamptz language sql stable as $$ select timestamptz '${instant}' $$`,
    );
  await at('2027-01-01 00:00:59.998Z');
  expect(await claim(own.db)).toEqual([]);
  expect(await dueWithin(own.db, 2_000)).toEqual([1]);
  await at('2027-01-01 00:00:59.9985Z');
  expect(await dueWithin(own.db, 2_000)).toEqual([1]); // rounded up: a timer never fires early
  expect(await claim(own.db)).toEqual([]);
  await at('2027-01-01 00:00:59.999Z');
  expect(await claim(own.db)).toHaveLength(1);
  expect(await dueWithin(own.db, 2_000)).toEqual([]);
});

test.for([
  [0, 0],
  [86_400, 86_400],
  [31_536_000, 31_536_000],
  [315_360_000, 315_360_000],
])('a delay of %i s comes due after it and not a second before', async ([delaySeconds = 0]) => {
  await schedule(own.db, tenant, { delaySeconds });
  if (delaySeconds > 0) {
    await moveProductTime(own.db, delaySeconds - 5);
    expect(await claim(own.db)).toEqual([]);
    await moveProductTime(own.db, 5);
  }
  expect(await claim(own.db)).toHaveLength(1);
  expect(await each(own.db, 'extract(epoch from due_at - created_at)::int')).toEqual([String(delaySeconds)]);
});

test('the look-ahead tells each instant once, in order, and nothing beyond its window', async () => {
  for (const delaySeconds of [0, 0, 1, 3, 4, 100]) await schedule(own.db, tenant, { delaySeconds });
  const waits = await dueWithin(own.db, 10_000);
  expect(waits[0]).toBe(0);
  expect(waits).toEqual([...waits].sort((a, b) => a - b));
  expect(new Set(waits).size).toBe(waits.length);
  expect(waits.at(-1)).toBeLessThanOrEqual(4_000);
});

test('[T8] releasing gives the try back and makes the old ticket useless', async () => {
  await schedule(own.db, tenant, { count: 2 });
  const tickets = await claim(own.db);
  expect(await releaseActions(own.db, tickets)).toBe(2);
  expect(await releaseActions(own.db, tickets)).toBe(0);
  expect(await releaseActions(own.db, [])).toBe(0);
  expect(await each(own.db, `status || ' ' || fence || ' ' || attempt || ' ' || retry_count`)).toEqual([
    'pending 2 0 0',
    'pending 2 0 0',
  ]);
  const again = await claim(own.db);
  expect(again.map(({ fence }) => fence)).toEqual(['3', '3']);
  expect(await releaseActions(own.db, tickets)).toBe(0);
});

test('the same dedup_key of an account is one row for ever, in one call or two; of another account another', async () => {
  const other = await insertTenant(own.db);
  expect(await schedule(own.db, tenant, { dedupKey: 'ev:1:1', count: 3 })).toHaveLength(1);
  expect(await schedule(own.db, tenant, { dedupKey: 'ev:1:1' })).toEqual([]);
  expect(await schedule(own.db, other, { dedupKey: 'ev:1:1' })).toHaveLength(1);
  expect(await columnOf(own.db, 'select count(*) from scheduled_action')).toEqual(['2']);
});

test('of five that schedule the same work at once and four that roll back one row stays [SEM-050]', async () => {
  const work = actionToSchedule(tenant);
  const all = Array.from({ length: 5 }, (_, n) =>
    inTransaction(own.db, async (tx) => {
      await scheduleMany(tx, [work]);
      if (n !== 2) throw new Error('undecidable');
    }),
  );
  expect((await Promise.allSettled(all)).map(({ status }) => status)[2]).toBe('fulfilled');
  expect(await columnOf(own.db, 'select dedup_key from scheduled_action')).toEqual([work.dedupKey]);
});

test('six thousand actions are scheduled in one call [SEM-110]', async () => {
  expect(await schedule(own.db, tenant, { count: 6_000 })).toHaveLength(6_000);
});

test('the look-ahead costs a backlog one probe', async () => {
  await query(
    `insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, execute_at, due_at, dedup_key)
     select ${tenant.organizationId}, ${tenant.lineOaId}, 'U', 'send_message', '{}', at, at, n
       from generate_series(1, 20000) as n, lateral (select app_now() - make_interval(secs => n)) as x (at)`,
  );
  await query('vacuum analyze scheduled_action');
  const database = openDatabase({ url: own.url, applicationName: 'test', maxConnections: 1, onError: () => undefined });
  await database.db.$client.query('set statement_timeout = 100; set enable_seqscan = off');
  const hits = () =>
    columnOf(
      own.db,
      `select sum(idx_tup_read) from pg_stat_user_indexes where indexrelname = 'idx_scheduled_action_due'`,
    );
  const before = Number((await hits())[0]);
  expect(await dueWithin(database.db, 2_000)).toEqual([0]);
  await database.close(); // hands its statistics over
  expect(Number((await hits())[0]) - before).toBeLessThan(100);
});

test('a claimer that leaves another a head start takes no row before it is over', async () => {
  await schedule(own.db, tenant, { delaySeconds: 100 });
  await moveProductTime(own.db, 101);

  expect(await claim(own.db, { overdueMs: 5_000 })).toHaveLength(0);
  await moveProductTime(own.db, 5);
  expect(await claim(own.db, { overdueMs: 5_000 })).toHaveLength(1);
});
