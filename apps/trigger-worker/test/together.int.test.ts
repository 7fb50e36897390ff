import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { testDb } from '@dueline/db/testing';
import { chunk } from '@dueline/kernel';
import { expect, test } from 'vitest';
import { fireScheduledActions } from '../src/fire-scheduled-action.ts';
import { claimAll, context, dueActions } from './due.ts';
import { count, createTenant, decideDeps, message } from './support.ts';

const TICKETS_OF_A_MESSAGE = 10;
const MESSAGES = 8;
const ACTIONS = TICKETS_OF_A_MESSAGE * MESSAGES;

/** Gives the consumer all that is due at the same moment, in messages; says how each ended, and how many transactions decided. */
async function fireAll(db: Db, tenant: Tenant, { redelivered = [] }: { redelivered?: readonly number[] } = {}) {
  let transactions = 0;
  const reach = (point: string) => {
    if (point === 'fire_action.committed') transactions += 1;
  };
  const deps = { ...decideDeps(db), reach };
  const fire = fireScheduledActions(deps);
  const messages = chunk(await claimAll(db), TICKETS_OF_A_MESSAGE).map((some, at) => ({
    ...message(tenant, { tickets: some.map(({ id, fence }) => ({ id, fence })) }),
    deliveryCount: redelivered.includes(at) ? 1 : 0,
  }));
  const outcomes = await Promise.all(messages.map((one) => fire(one, context)));
  return { deps, outcomes, transactions };
}

test('messages that are here at the same time are decided together, and each is told what became of its own', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, ACTIONS);
  await dueActions(db, tenant, { count: ACTIONS });

  const { deps, outcomes, transactions } = await fireAll(db, tenant);

  expect(transactions).toBe(3); // two begin at once, the other six wait for the first that ends
  expect(outcomes).toEqual(Array(MESSAGES).fill({ outcome: 'done', detail: { actions: TICKETS_OF_A_MESSAGE } }));
  expect(deps.handedOver).toHaveLength(ACTIONS);
  expect(await count(db, 'scheduled_action', `status = 'done'`)).toBe(ACTIONS);
});

test('a message that comes back is decided row by row, however many others are here', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, ACTIONS);
  await dueActions(db, tenant, { count: ACTIONS });

  const { transactions } = await fireAll(db, tenant, { redelivered: [2, 5] });

  expect(transactions).toBe(3 + 2 * TICKETS_OF_A_MESSAGE);
  expect(await count(db, 'scheduled_action', 'alone')).toBe(2 * TICKETS_OF_A_MESSAGE);
  expect(await count(db, 'scheduled_action', `status = 'done'`)).toBe(ACTIONS);
});

test('one row that spoils what was gathered costs itself only, and the others few transactions', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, ACTIONS);
  const ids = await dueActions(db, tenant, { count: ACTIONS });
  const spoilt = ids[45] ?? '';
  await db.$client.query(`
    create function spoil() returns trigger language plpgsql as $$ begin raise exception 'spoilt' using errcode = '22000'; end $$;
    create trigger spoil before insert on delivery for each row when (new.scheduled_action_id = ${spoilt}) execute function spoil()`);

  const { deps, outcomes, transactions } = await fireAll(db, tenant);

  expect(transactions).toBeLessThan(12);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array(MESSAGES).fill('done'));
  expect(deps.handedOver).toHaveLength(ACTIONS - 1);
  expect(await count(db, 'scheduled_action', `status = 'pending' and retry_count = 1`)).toBe(1);
  expect(await count(db, 'scheduled_action', `status = 'done'`)).toBe(ACTIONS - 1);
});
