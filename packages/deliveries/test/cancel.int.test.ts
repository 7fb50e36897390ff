import type { Tenant } from '@dueline/contracts';
import { inTenant } from '@dueline/db';
import { insertTenant, lockWaiters, type TestDb, testDb } from '@dueline/db/testing';
import { type AttemptOutcome, cancelDeliveries, type DeliveryToCreate } from '@dueline/deliveries';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { mustStart, plan, settle, start, startNow, stateOf } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const planFor = (scheduledActionId: string, changes: Partial<DeliveryToCreate> = {}) =>
  plan(own.db, tenant, { kind: 'action', logicalId: scheduledActionId, scheduledActionId, ...changes });
const cancel = (ids: readonly string[], whose = tenant) =>
  inTenant(own.db, whose, (tx) => cancelDeliveries(tx, { tenant: whose, scheduledActionIds: ids }));

test('[D9] a message that has not left is cancelled, and its ticket in the queue starts nothing', async () => {
  const delivery = await planFor('7');
  expect(await cancel(['7', '8'])).toEqual([{ scheduledActionId: '7', result: 'cancelled' }]);
  expect(await stateOf(own.db, delivery.id)).toBe('cancelled 1 by_person');
  expect(await start(own.db, tenant, { tickets: [delivery] })).toEqual([]);
  expect(await cancel(['7'])).toMatchObject([{ result: 'ended' }]);
});

test.for<[AttemptOutcome, string, string]>([
  ['throttled', 'cancelled', 'cancelled 3 by_person throttled'],
  ['not_reached', 'cancelled', 'cancelled 3 by_person not_reached'],
  ['ambiguous', 'in_doubt', 'planned 2 ambiguous ambiguous'],
  ['accepted', 'sent', 'accepted 2 - accepted'],
  ['refused', 'ended', 'refused 2 refused refused'],
])('[D9] after an attempt that was %s the message is: %s', async ([outcome, result, state]) => {
  const { id } = await planFor('7');
  await settle(own.db, await mustStart(own.db, tenant, id), { outcome });
  expect(await cancel(['7'])).toMatchObject([{ result }]);
  expect(await stateOf(own.db, id)).toBe(state);
});

test('[D9] a message that is being sent is left alone', async () => {
  const { id } = await planFor('7');
  await mustStart(own.db, tenant, id);
  expect(await cancel(['7'])).toMatchObject([{ result: 'in_doubt' }]);
  expect(await stateOf(own.db, id)).toBe('sending 1 - ?');
});

test('[D9] of a cancel and a start of the same message the row lock says who came first', async () => {
  for (const [first, action] of [
    ['start', '1'],
    ['cancel', '2'],
  ] as const) {
    const { id } = await planFor(action);
    const waits = (count: number) => lockWaiters(own.db, count);
    const holder = await own.db.$client.connect();
    await holder.query('begin');
    await holder.query('select from delivery where id = $1 for no key update', [id]);
    const steps = { start: () => startNow(own.db, tenant, id), cancel: () => cancel([action]) };
    const one = steps[first]();
    await waits(1);
    const two = steps[first === 'start' ? 'cancel' : 'start']();
    await waits(2);
    await holder.query('commit');
    holder.release();
    await Promise.all([one, two]);
    expect(await stateOf(own.db, id)).toBe(first === 'start' ? 'sending 1 - ?' : 'cancelled 1 by_person');
  }
});

test('[D9] every message of an action is stopped, and only in its account', async () => {
  const deliveries = [await planFor('7'), await planFor('7', { epoch: 2 })];
  const other = await insertTenant(own.db);
  expect(await cancel(['7'], other)).toEqual([]);
  expect(await cancel(['7'])).toEqual([{ scheduledActionId: '7', result: 'cancelled' }]);
  for (const { id } of deliveries) expect(await stateOf(own.db, id)).toBe('cancelled 1 by_person');
  expect(await cancel([])).toEqual([]);
});
