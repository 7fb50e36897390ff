import { takeInHand } from '@dueline/db';
import { recoverEventsInHand } from '@dueline/db/changes';
import { lockWaiters, testDb, withGate } from '@dueline/db/testing';
import { TransientError } from '@dueline/kernel';
import { expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { processEvents } from '../src/process-events.ts';
import { context } from './due.ts';
import {
  announceAll,
  count,
  createCityRule,
  createTenant,
  decideDeps,
  decisions,
  type Handled,
  later,
  message,
  movedAccounts,
  setAttributes,
  spoilMessagesTo,
  userId,
} from './support.ts';

const ACCOUNTS = 4;
const PEOPLE = 5;
const EVENTS = ACCOUNTS * PEOPLE;
const EVERYBODY = Array.from({ length: PEOPLE }, (_, n) => n);

/** Runs until nothing is there; says how many batches were decided. */
async function processAll(deps: Handled): Promise<number> {
  let batches = 0;
  const run = processEvents({
    ...deps,
    reach: (point) => {
      if (point === 'process_event.committed') batches += 1;
    },
  });
  while (await run());
  return batches;
}

test('what just happened in many accounts is taken and decided together, each event by the rules of its own account', async () => {
  await using database = await testDb();
  const { db } = database;
  await movedAccounts(db, { accounts: ACCOUNTS, people: PEOPLE });
  const deps = decideDeps(db);

  expect(await processAll(deps)).toBe(1);

  await expect.poll(() => deps.handedOver.length).toBe(EVENTS);
  expect(deps.errors).toEqual([]);
  expect(
    await count(
      db,
      'delivery',
      'exists (select from trigger_rule where id = trigger_rule_id and line_oa_id = delivery.line_oa_id)',
    ),
  ).toBe(EVENTS);
  expect(await decisions(db)).toEqual({ 'fired: matched': EVENTS });
  expect(await count(db, 'event_outbox')).toBe(0);
  expect(await count(db, 'event_archive')).toBe(EVENTS);
  expect(await count(db, 'batch_in_hand')).toBe(0);
});

test('processes that look at the same time decide each event once', async () => {
  await using database = await testDb();
  const { db } = database;
  await movedAccounts(db, { accounts: ACCOUNTS, people: 120 });
  const all = Array.from({ length: 4 }, () => decideDeps(db));

  await Promise.all(all.map(processAll));

  await expect.poll(() => all.flatMap(({ handedOver }) => handedOver).length).toBe(ACCOUNTS * 120);
  expect(await decisions(db)).toEqual({ 'fired: matched': ACCOUNTS * 120 });
  expect(await count(db, 'delivery')).toBe(ACCOUNTS * 120);
  expect(await count(db, 'event_outbox')).toBe(0);
});

// 57014: a statement that took too long
test.for(['22000', '57014'])(
  'one event that spoils a batch (%s) costs itself only, and is announced later',
  async (code) => {
    await using database = await testDb();
    const { db } = database;
    const bad = (await movedAccounts(db, { accounts: ACCOUNTS, people: PEOPLE }))[2]?.lineOaId;
    await spoilMessagesTo(db, { lineOaId: bad, person: 2, code });
    const deps = decideDeps(db);

    await processAll(deps);

    expect(deps.errors).toHaveLength(1);
    await expect.poll(() => deps.handedOver.length).toBe(EVENTS - 1);
    expect(
      await count(
        db,
        'event_outbox',
        `line_oa_id = ${bad} and user_id = '${userId(2)}' and status = 'published' and attempts = 1`,
      ),
    ).toBe(1);
    expect(await count(db, 'event_outbox')).toBe(1);
  },
);

test('crowds, suspects, and whoever has something older on the long way are left to the queue, and nobody else', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, PEOPLE);
  await createCityRule(db, tenant);
  await setAttributes(db, tenant, { city: 'Edo' }, [0]);
  const [announced] = await announceAll(db);
  await setAttributes(db, tenant, { city: 'Nara' }, [0]); // behind what was announced
  await setAttributes(db, tenant, { city: 'Edo' }, [1]);
  await db.$client.query(`update event_outbox set bulk = true where user_id = '${userId(1)}'`);
  await setAttributes(db, tenant, { city: 'Nara' }, [1]); // behind a crowd
  await setAttributes(db, tenant, { city: 'Edo' }, [2]);
  await db.$client.query(`update event_outbox set alone = true where user_id = '${userId(2)}'`);
  await setAttributes(db, tenant, { city: 'Edo' }, [3, 4]);

  await processAll(decideDeps(db));

  expect(await count(db, 'event_archive', `user_id in ('${userId(3)}', '${userId(4)}')`)).toBe(2);
  expect(await count(db, 'event_archive')).toBe(2);
  expect(await count(db, 'event_outbox', `status = 'pending'`)).toBe(4);

  if (announced === undefined) throw new Error('nothing was announced');
  await handleTriggerEvents(decideDeps(db), 'attribute_changed')(message(tenant, { tickets: [announced] }), context);
  await processAll(decideDeps(db));
  expect(await count(db, 'event_archive', `user_id = '${userId(0)}'`)).toBe(2);
});

test('what happened to one person several times is decided in the order in which it happened', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, 2);
  await createCityRule(db, tenant, { actionConfig: later(60), reentry: 'not_while_open' });
  const cities = ['Edo', 'Kyoto', 'Nara', 'Kobe'];
  for (const city of cities) await setAttributes(db, tenant, { city }, [0]);

  await processAll(decideDeps(db));

  const { rows } = await db.$client.query(`
    select archive.payload -> 'changed' -> 'city' ->> 'to' as city from scheduled_action as action join event_archive as archive using (event_id)`);
  expect(rows).toEqual([{ city: 'Edo' }]);
  expect(await count(db, 'event_archive')).toBe(cities.length);
});

test('an event that commits late, under an id far below what was taken since, is found by a look soon after', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, 2);
  await createCityRule(db, tenant);
  const slow = await db.$client.connect();
  try {
    await slow.query('begin');
    await slow.query(`update line_user set attributes = '{"city": "Edo"}' where user_id = $1`, [userId(0)]);
    await slow.query("select setval(pg_get_serial_sequence('event_outbox', 'id'), 100000)");
    await setAttributes(db, tenant, { city: 'Edo' }, [1]);
    const run = processEvents(decideDeps(db));
    expect(await run()).toBe(true);
    expect(await run()).toBe(false);

    await slow.query('commit');

    await expect.poll(run, { timeout: 10_000 }).toBe(true);
  } finally {
    slow.release();
  }
  expect(await decisions(db)).toEqual({ 'fired: matched': 2 });
});

test('it stands beside the batch which events are in hand, and what this process has in hand of due actions stays there', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, PEOPLE);
  await createCityRule(db, tenant);
  await setAttributes(db, tenant, { city: 'Edo' }, EVERYBODY);
  const deps = decideDeps(db);
  await takeInHand(db, { claimedBy: deps.claimedBy, kind: 'action', ids: ['1', '2'], leaseSeconds: 60 });
  await db.$client.query(`
    create table seen as select kind, claimed_by, cardinality(ids) as ids from batch_in_hand with no data;
    create function see() returns trigger language plpgsql as $$
    begin insert into seen select kind, claimed_by, cardinality(ids) from batch_in_hand; return null; end $$;
    create trigger see after insert on delivery for each statement execute function see()`);

  expect(await processEvents(deps)()).toBe(true);

  const inHand = async (table: string) =>
    (await db.$client.query(`select kind, claimed_by from ${table} order by kind`)).rows;
  const ofActions = { kind: 'action', claimed_by: deps.claimedBy };
  expect(await inHand('seen')).toEqual([ofActions, { kind: 'event', claimed_by: `${deps.claimedBy}+events` }]);
  expect(await count(db, 'seen', `kind = 'event' and ids = ${PEOPLE}`)).toBe(1);
  expect(await inHand('batch_in_hand')).toEqual([ofActions]);
});

test('events that another process had in hand, and is not seen to have decided, are decided alone', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, PEOPLE);
  await createCityRule(db, tenant);
  await setAttributes(db, tenant, { city: 'Edo' }, EVERYBODY);
  const { rows } = await db.$client.query<{ id: string }>('select id::text from event_outbox order by id limit 2');
  const ids = rows.map(({ id }) => id);
  await takeInHand(db, { claimedBy: 'gone:1', kind: 'event', ids, leaseSeconds: 60 });
  const deps = decideDeps(db);
  const seen: string[] = [];

  const run = processEvents({ ...deps, reach: (point) => seen.push(point) });
  while (await run());

  expect(seen).not.toContain('process_event.committed');
  expect(seen.filter((point) => point === 'decide_event.committed')).toHaveLength(ids.length + 1); // the others together
  expect(await count(db, 'event_outbox')).toBe(0);
  expect(await count(db, 'delivery')).toBe(PEOPLE);
});

const GATE = 4_711;
/** An account whose people have moved; whoever makes messages of it stands at the gate. */
async function movedBehindGate(db: Parameters<typeof createTenant>[0]): Promise<void> {
  const tenant = await createTenant(db, PEOPLE);
  await createCityRule(db, tenant);
  await setAttributes(db, tenant, { city: 'Edo' }, EVERYBODY);
  await db.$client.query(`
    create function stand() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(${GATE}); return null; end $$;
    create trigger stand after insert on delivery for each statement execute function stand()`);
}

test('a connection that is lost while events are decided costs none of them a try, and the next look decides each once', async () => {
  await using database = await testDb();
  const { db } = database;
  await movedBehindGate(db);
  const deps = decideDeps(db);
  const run = processEvents(deps);
  await withGate(db, GATE, async () => {
    const deciding = expect(run()).rejects.toThrow(TransientError);
    await lockWaiters(db);
    await db.$client.query(`select pg_terminate_backend(pid) from pg_stat_activity
                             where datname = current_database() and wait_event = 'advisory'`);
    await deciding;
  });
  expect(await count(db, 'event_outbox', `status = 'pending' and attempts = 0 and not alone`)).toBe(PEOPLE);
  expect(await count(db, 'batch_in_hand')).toBe(0);

  expect(await run()).toBe(true);
  expect(await run()).toBe(false);
  expect(await count(db, 'delivery')).toBe(PEOPLE);
  expect(await decisions(db)).toEqual({ 'fired: matched': PEOPLE });
});

test('a process that is silent beyond its lease, and then decides after all, is not taken for dead', async () => {
  await using database = await testDb();
  const { db } = database;
  await movedBehindGate(db);
  const deps = { ...decideDeps(db), leaseSeconds: -1 };
  const run = processEvents(deps);
  const [deaths, found] = await withGate(db, GATE, async (open) => {
    const deciding = run();
    await lockWaiters(db);
    const recovering = recoverEventsInHand(db, { leaseOver: true });
    await lockWaiters(db, 2);
    expect(await processEvents(decideDeps(db, { claimedBy: 'other:1' }))()).toBe(false); // what is in a hand is nobody else's
    await open();
    return Promise.all([recovering, deciding]);
  });
  expect({ deaths, found }).toEqual({ deaths: 0, found: true });
  expect(await count(db, 'event_outbox')).toBe(0);
  expect(await count(db, 'delivery')).toBe(PEOPLE);
});
