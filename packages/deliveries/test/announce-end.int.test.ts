import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { cancelDeliveries, closeOverdueDeliveries, resendDeliveries } from '@dueline/deliveries';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HOUR, letWaitsPass, mustStart, plan, settle } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

/** A message of which somebody wants to know the end. */
async function planAwaited(): Promise<string> {
  const { id } = await plan(own.db, tenant, { kind: 'action', logicalId: '7' });
  await own.db.$client.query('update delivery set announce_end = true where id = $1', [id]);
  return id;
}

const told = () =>
  columnOf(
    own.db,
    `select concat_ws(' ', topic, payload ->> 'status', payload ->> 'reason_code') from event_outbox order by id`,
  );
const closeOverdue = () => inTransaction(own.db, closeOverdueDeliveries);

const ENDS: readonly (readonly [end: string, lead: (id: string) => Promise<unknown>])[] = [
  ['accepted', async (id) => settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'accepted' })],
  [
    'refused invalid_recipient',
    async (id) => settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'refused', httpStatus: 400 }),
  ],
  [
    'unknown ambiguous',
    async (id) => {
      await settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'ambiguous' });
      await moveProductTime(own.db, 24 * HOUR);
      await closeOverdue();
    },
  ],
  [
    'expired too_late',
    async () => {
      await moveProductTime(own.db, 25 * HOUR);
      await closeOverdue();
    },
  ],
  [
    'cancelled by_person',
    () => inTransaction(own.db, (tx) => cancelDeliveries(tx, { tenant, scheduledActionIds: ['7'] })),
  ],
];

test.for(ENDS)(
  'who waits for the end of a message is told of it once, in the same transaction: %s',
  async ([end, lead]) => {
    const id = await planAwaited();
    await lead(id);
    expect(await told()).toEqual([`delivery_settled ${end}`]);
    expect(await columnOf(own.db, `select payload ->> 'id' from event_outbox`)).toEqual([id]);
  },
);

test('nobody is told of a message that goes on, nor of the end of one that nobody waits for', async () => {
  const id = await planAwaited();
  await settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'throttled' });
  const other = await plan(own.db, tenant);
  await settle(own.db, await mustStart(own.db, tenant, other.id), { outcome: 'accepted' });
  expect(await told()).toEqual([]);
});

test('a message that a person sends again is told of at its second end too', async () => {
  const id = await planAwaited();
  await settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'refused', httpStatus: 400 });
  await inTransaction(own.db, (tx) => resendDeliveries(tx, tenant, { ids: [id], acceptDuplicates: false }));
  await letWaitsPass(own.db);
  await settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'accepted' });
  expect(await told()).toEqual(['delivery_settled refused invalid_recipient', 'delivery_settled accepted']);
});
