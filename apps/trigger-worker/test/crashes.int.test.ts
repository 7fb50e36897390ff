import type { Tenant } from '@dueline/contracts';
import { inTransaction, sql, takeInHand } from '@dueline/db';
import { columnOf, lockWaiters, type TestDb, testDb } from '@dueline/db/testing';
import { claimBatch, finishActions, holdActions, recoverActionsInHand } from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { processDueActions } from '../src/process-due-actions.ts';
import { claimAll, claimOf, context, dueActions, fire } from './due.ts';
import {
  announceAll,
  count,
  createCityRule,
  createTenant,
  decideDeps,
  decisions,
  message,
  setAttributes,
} from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await createTenant(own.db, 4);
});
afterEach(() => own[Symbol.asyncDispose]());

const DEAD = { leaseOver: true } as const;
const STATE = `select concat_ws(' ', status, fence, attempt, rescue_count, alone) from scheduled_action order by id`;
const states = () => columnOf(own.db, STATE);
/** What a process that died while it decided these leaves behind. */
const dieWith = (ids: readonly string[], { claimedBy = 'w:1', kind = 'action' as 'action' | 'event' } = {}) =>
  takeInHand(own.db, { claimedBy, kind, ids, leaseSeconds: -1 });

test('[T9b] of several rows in the hand of a dead process none is accused, each is decided alone from then on; its claim stays', async () => {
  const ids = await dueActions(own.db, tenant, { count: 2 });
  await dieWith(ids);
  expect(await recoverActionsInHand(own.db, DEAD)).toEqual({ deaths: 0, suspects: 2 });
  expect(await states()).toEqual(['pending 0 0 0 t', 'pending 0 0 0 t']);
  expect(await count(own.db, 'batch_in_hand')).toBe(0);
});

test('[T9b] a row that was alone in the hand of a dead process counts a death, and gives its try back the first time', async () => {
  const ids = await dueActions(own.db, tenant, { count: 1 });
  await dieWith(ids); // inline: its claim was rolled back
  expect(await recoverActionsInHand(own.db, DEAD)).toEqual({ deaths: 1, suspects: 0 });
  expect(await states()).toEqual(['pending 1 0 1 t']);

  await own.db.$client.query('update scheduled_action set rescue_count = 0');
  const tickets = await claimAll(own.db);
  await dieWith(ids);
  await recoverActionsInHand(own.db, DEAD);
  expect(await states()).toEqual(['pending 3 0 1 t']);
  expect(await inTransaction(own.db, (tx) => holdActions(tx, tickets))).toEqual([]);

  await claimAll(own.db);
  await dieWith(ids);
  await recoverActionsInHand(own.db, DEAD);
  expect(await states()).toEqual(['pending 5 1 2 t']);
});

test('[T9b] a living process is not taken for dead: neither another instance, nor this boot, nor a lease that still runs', async () => {
  const ids = await dueActions(own.db, tenant, { count: 1 });
  await takeInHand(own.db, { claimedBy: 'w:1', kind: 'action', ids, leaseSeconds: 60 });
  const none = { deaths: 0, suspects: 0 };
  expect(await recoverActionsInHand(own.db, DEAD)).toEqual(none);
  expect(await recoverActionsInHand(own.db, { earlierBootsOf: 'w:1' })).toEqual(none);
  expect(await recoverActionsInHand(own.db, { earlierBootsOf: 'w-2:1' })).toEqual(none);
  expect(await recoverActionsInHand(own.db, { earlierBootsOf: 'w:2' })).toEqual({ deaths: 1, suspects: 0 });
});

test.for(['commits', 'rolls back'] as const)(
  '[T9b] the reaper waits for a process that only seemed dead: when that %s, the row counts what is true',
  async (end) => {
    const [id] = await dueActions(own.db, tenant, { count: 1 });
    const tickets = await claimAll(own.db);
    await dieWith([id ?? '']);
    const held = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const deciding = inTransaction(own.db, async (tx) => {
      const [action] = await holdActions(tx, tickets);
      held.resolve();
      await go.promise;
      if (action === undefined || end === 'rolls back') throw new Error('rolled back');
      await finishActions(tx, [{ ...action, to: 'done' }]);
    }).catch((error: unknown) => error);
    await held.promise;
    const recovering = recoverActionsInHand(own.db, DEAD);
    await lockWaiters(own.db);
    go.resolve();
    await deciding;
    expect(await recovering).toEqual({ deaths: end === 'commits' ? 0 : 1, suspects: 0 });
    expect(await states()).toEqual([end === 'commits' ? 'done 2 1 0 f' : 'pending 2 0 1 t']);
  },
);

test('[T9] a message that comes back, because its connection was lost or its process died, accuses nobody; its rows are decided once', async () => {
  await dueActions(own.db, tenant, { count: 3 });
  const tickets = await claimAll(own.db);
  const deps = decideDeps(own.db);
  await Promise.all([
    fire(deps, tickets),
    fire(deps, tickets, { deliveryCount: 1 }),
    fire(decideDeps(own.db), tickets, { deliveryCount: 2 }),
  ]);
  const found = await columnOf(
    own.db,
    `select concat_ws(' ', status, rescue_count, retry_count) from scheduled_action`,
  );
  expect(found).toEqual(['done 0 0', 'done 0 0', 'done 0 0']);
  expect(await decisions(own.db)).toEqual({ 'fired: due': 3 });
  expect(await count(own.db, 'batch_in_hand')).toBe(0);
});

test('[T9] of a message that comes back after its commit no row is decided alone, because each has ended', async () => {
  await dueActions(own.db, tenant, { count: 3 });
  const tickets = await claimAll(own.db);
  await fire(decideDeps(own.db), tickets);
  await own.db.$client.query(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'in hand'; end $$;
    create trigger refuse before insert on batch_in_hand for each row execute function refuse()`);
  const deps = decideDeps(own.db);
  expect(await fire(deps, tickets, { deliveryCount: 1 })).toMatchObject({ outcome: 'discarded' });
  expect(deps.errors).toEqual([]);
});

test('[T9] rows of a message that came back stay suspected when their lease has run out meanwhile', async () => {
  await dueActions(own.db, tenant, { count: 2 });
  const stale = (await claimAll(own.db)).map((ticket) => ({ ...ticket, fence: '0' }));
  expect(await fire(decideDeps(own.db), stale, { deliveryCount: 1 })).toMatchObject({ outcome: 'discarded' });
  expect(await states()).toEqual(['processing 1 1 0 t', 'processing 1 1 0 t']);
});

test.for(['queue', 'inline'] as const)(
  '[T5] %s: a row with more than four deaths fails without being looked at, among others that are decided',
  async (profile) => {
    const [, deadly] = await dueActions(own.db, tenant, { count: 3 });
    await own.db.$client.query('update scheduled_action set rescue_count = 5, alone = true where id = $1', [deadly]);
    const met: string[] = [];
    const deps = { ...decideDeps(own.db), meet: (userId: string) => met.push(userId) };
    if (profile === 'queue') await fire(deps, await claimAll(own.db));
    else await processDueActions(deps, claimOf('inline'))();

    expect(await columnOf(own.db, 'select status from scheduled_action order by id')).toEqual([
      'done',
      'failed',
      'done',
    ]);
    expect(met).toHaveLength(2);
    expect(await decisions(own.db)).toEqual({ 'fired: due': 2, 'failed: kills_its_process': 1 });
    expect(await columnOf(own.db, `select kind || ref_id || reason_code from attention_item`)).toEqual([
      `action_failed${deadly}kills_its_process`,
    ]);
  },
);

test('while a suspected row is decided, its name is in hand for everybody to see; then no more', async () => {
  const [suspect] = await dueActions(own.db, tenant, { count: 2 });
  await own.db.$client.query('update scheduled_action set alone = true where id = $1', [suspect]);
  const tickets = await claimAll(own.db);
  const go = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const blocking = inTransaction(own.db, async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(1)`);
    locked.resolve();
    await go.promise;
  });
  await locked.promise;
  await own.db.$client.query(`create function wait() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
    create trigger wait before insert on delivery for each row when (new.scheduled_action_id = ${suspect}) execute function wait()`);
  const firing = fire(decideDeps(own.db), tickets);
  await vi.waitFor(
    async () => expect(await columnOf(own.db, 'select ids[1] from batch_in_hand')).toEqual([suspect]),
    15_000,
  );
  expect(await count(own.db, 'scheduled_action', `status = 'done'`)).toBe(1);
  go.resolve();
  await Promise.all([blocking, firing]);
  expect(await count(own.db, 'scheduled_action', `status = 'done'`)).toBe(2);
  expect(await count(own.db, 'batch_in_hand')).toBe(0);
});

test('a row that alone is in the hand of a process not known to be dead is left to it', async () => {
  const ids = await dueActions(own.db, tenant, { count: 1 });
  await own.db.$client.query('update scheduled_action set alone = true');
  await takeInHand(own.db, { claimedBy: 'other:1', kind: 'action', ids, leaseSeconds: 60 });
  const tickets = await claimAll(own.db);
  expect(await fire(decideDeps(own.db), tickets)).toMatchObject({ outcome: 'discarded' });
  expect(await states()).toEqual(['processing 1 1 0 t']);
});

test('inline: rows that another process has in hand are decided alone; an error leaves nothing in hand', async () => {
  const ids = await dueActions(own.db, tenant, { count: 3 });
  await takeInHand(own.db, { claimedBy: 'other:1', kind: 'action', ids: ids.slice(0, 2), leaseSeconds: 60 });
  const seen: number[] = [];
  const deps = { ...decideDeps(own.db), onDecided: () => seen.push(1) };
  await processDueActions(deps, claimOf('inline'))();
  expect(await count(own.db, 'scheduled_action', `status = 'done'`)).toBe(3);
  expect(await columnOf(own.db, 'select claimed_by from batch_in_hand')).toEqual(['other:1']);

  await own.db.$client.query(`create function spoil() returns trigger language plpgsql as $$ begin raise exception 'spoilt'; end $$;
    create trigger spoil before insert on delivery for each row execute function spoil()`);
  await dueActions(own.db, tenant, { count: 1, dedupKey: 'another' });
  await processDueActions(deps, claimOf('inline'))();
  expect(await count(own.db, 'scheduled_action', `status = 'pending' and retry_count = 1`)).toBe(1);
  expect(await columnOf(own.db, 'select claimed_by from batch_in_hand')).toEqual(['other:1']);
});

test('an event that was alone in the hand of a dead process counts a death and is announced again; after more than four it is dead', async () => {
  await createCityRule(own.db, tenant);
  await setAttributes(own.db, tenant, { city: 'Oslo' }, [0, 1, 2]);
  const tickets = await announceAll(own.db);
  const [deadly] = tickets;
  if (deadly === undefined) throw new Error('nothing announced');
  for (let deaths = 1; deaths <= 5; deaths += 1) {
    await dieWith([deadly.id], { kind: 'event', claimedBy: `test:${deaths}` });
    const deps = decideDeps(own.db, { claimedBy: `test:${deaths + 1}` }); // the next boot
    await deps.ready();
    expect(await columnOf(own.db, 'select rescue_count from event_outbox where alone')).toEqual([String(deaths)]);
    expect(await announceAll(own.db)).toEqual([deadly]); // with its fence
  }
  const deps = decideDeps(own.db);
  await handleTriggerEvents(deps, 'attribute_changed')(message(tenant, { tickets }), context);

  expect(await decisions(own.db)).toEqual({ 'fired: matched': 2, 'failed: kills_its_process': 1 });
  expect(await columnOf(own.db, `select concat_ws(' ', id, status, attempts) from event_outbox`)).toEqual([
    `${deadly.id} dead 5`,
  ]);
  expect(await columnOf(own.db, 'select kind || ref_id from attention_item')).toEqual([`event_dead${deadly.id}`]);
});

test('events of a message that came back are decided alone, once, and none is accused', async () => {
  await createCityRule(own.db, tenant);
  await setAttributes(own.db, tenant, { city: 'Oslo' }, [0, 1, 2]);
  const tickets = await announceAll(own.db);
  const handle = handleTriggerEvents(decideDeps(own.db), 'attribute_changed');
  const copy = message(tenant, { tickets });
  await Promise.all([handle({ ...copy, deliveryCount: 1 }, context), handle(copy, context)]);
  expect(await decisions(own.db)).toEqual({ 'fired: matched': 3 });
  expect(await count(own.db, 'event_outbox')).toBe(0);
  expect(await count(own.db, 'batch_in_hand')).toBe(0);
});

test('a claim that a dead process left is told apart from its deaths: what its boot had not begun is innocent', async () => {
  await dueActions(own.db, tenant, { count: 2 });
  const [begun] = await claimBatch(own.db, { ...claimOf('queue'), claimedBy: 'test:1' });
  await takeInHand(own.db, { claimedBy: 'test:1', kind: 'action', ids: [begun?.id ?? ''], leaseSeconds: 60 });
  await decideDeps(own.db, { claimedBy: 'test:2' }).ready();
  expect((await states()).toSorted()).toEqual(['pending 2 0 1 t', 'processing 1 1 0 f']);
});
