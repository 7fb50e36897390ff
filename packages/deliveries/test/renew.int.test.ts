import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import {
  type AttemptOutcome,
  announceDeliveries,
  closeOverdueDeliveries,
  renewDeliveries,
  retryKey,
} from '@dueline/deliveries';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HOUR, letWaitsPass, mustStart, plan, settle, startNow, stateOf } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const renew = () => inTransaction(own.db, renewDeliveries);
const closeOverdue = () => inTransaction(own.db, closeOverdueDeliveries);
const keyOf = (id: string) => columnOf(own.db, `select epoch || ' ' || retry_key from delivery where id = $1`, [id]);
/** Worth sending for so many hours from now on. */
const deliverFor = (hours: number) =>
  own.db.$client.query('update delivery set deliver_until = app_now() + make_interval(hours => $1)', [hours]);

/** A delivery whose attempts ended so, one after the other, and which may still be sent for two days. */
async function attempted(...outcomes: AttemptOutcome[]): Promise<string> {
  const { id } = await plan(own.db, tenant, { logicalId: 'event:1' });
  await deliverFor(48);
  for (const outcome of outcomes) {
    await settle(own.db, await mustStart(own.db, tenant, id), { outcome });
    await letWaitsPass(own.db);
  }
  return id;
}

test.for<AttemptOutcome[]>([['not_reached'], ['throttled'], ['auth'], ['not_reached', 'throttled', 'auth']])(
  'what reached nobody for 23 hours (%s) goes on under a new key, in a new epoch',
  async (outcomes) => {
    const id = await attempted(...outcomes);
    const [before] = await keyOf(id);
    await moveProductTime(own.db, 22 * HOUR);
    expect(await renew()).toBe(0);
    expect(await keyOf(id)).toEqual([before]);
    await moveProductTime(own.db, 1 * HOUR);
    expect(await startNow(own.db, tenant, id)).toBeUndefined(); // the old key may not be used any more
    expect(await closeOverdue()).toEqual([]);

    expect(await renew()).toBe(1);
    expect(await renew()).toBe(0);

    const [channelId] = (await columnOf(own.db, 'select channel_id from line_oa')) as [string];
    const name = { channelId, kind: 'event', logicalId: 'event:1', endpoint: 'push' } as const;
    expect(await keyOf(id)).toEqual([`2 ${retryKey({ ...name, epoch: 2, ordinal: 0, splitPath: '' })}`]);
    expect((await announceDeliveries(own.db, { limit: 10, againAfterSeconds: 60 })).map((ticket) => ticket.id)).toEqual(
      [id],
    );
    await settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'accepted', lineRequestId: 'at last' });
    expect(await stateOf(own.db, id)).toMatch(/^accepted /);
  },
);

test.for<AttemptOutcome[]>([['ambiguous'], ['not_reached', 'ambiguous'], ['ambiguous', 'throttled']])(
  'what may have reached somebody (%s) never gets a new key: it is unknown',
  async (outcomes) => {
    const id = await attempted(...outcomes);
    await moveProductTime(own.db, 23 * HOUR);
    const before = await keyOf(id);
    expect(await renew()).toBe(0);
    expect((await closeOverdue()).map(({ status }) => status)).toEqual(['unknown']);
    expect(await renew()).toBe(0);
    expect(await keyOf(id)).toEqual(before);
  },
);

test('an attempt without an answer, as a dead process leaves it, is in doubt and keeps its key', async () => {
  const id = await attempted();
  await mustStart(own.db, tenant, id);
  await own.db.$client.query(
    `update delivery set status = 'planned', fence = fence + 1, lease_until = null where id = $1`,
    [id],
  );
  await moveProductTime(own.db, 24 * HOUR);
  expect(await renew()).toBe(0);
  expect((await closeOverdue()).map(({ status }) => status)).toEqual(['unknown']);
});

test('doubts about an earlier key do not hold a later one up', async () => {
  const id = await attempted('not_reached');
  await moveProductTime(own.db, 23 * HOUR);
  await renew();
  await settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'not_reached' });
  await deliverFor(48);
  await moveProductTime(own.db, 24 * HOUR);
  expect(await renew()).toBe(1);
  expect(await keyOf(id)).toEqual([expect.stringMatching(/^3 /)]);
});

test('what is not worth sending any more gets no new key: it expires', async () => {
  const id = await attempted('not_reached');
  await deliverFor(20);
  await moveProductTime(own.db, 24 * HOUR);
  expect(await renew()).toBe(0);
  expect((await closeOverdue()).map(({ status }) => status)).toEqual(['expired']);
  expect(await stateOf(own.db, id)).toBe('expired 3 too_late not_reached');
});
