import { randomUUID } from 'node:crypto';
import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { announceDeliveries, createDeliveries, reapEarlierBoots, settleDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { createLineClient } from '@dueline/line-client';
import { createSimulator, nthUserId, type Simulator } from '@dueline/line-simulator';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { executeActions } from '../src/execute-action.ts';
import { createInHand } from '../src/in-hand.ts';
import { limitsOf } from './limits/support.ts';

const CHANNEL = { channelId: '2000000007', channelAccessToken: 'a-token' };
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const settle = async (db: Db, settlement: Parameters<typeof settleDeliveries>[1][number]) =>
  (await settleDeliveries(db, [settlement])).has(settlement.started.id);

let own: TestDb;
let tenant: Tenant;
let simulator: Simulator;
beforeEach(async () => {
  own = await testDb();
  simulator = await createSimulator({ channels: [{ ...CHANNEL, users: [{ prefix: 'd', count: 1 }] }] });
  const [organizationId = ''] = await columnOf(own.db, `insert into organization (name) values ('test') returning id`);
  const [lineOaId = ''] = await columnOf(
    own.db,
    `insert into line_oa (organization_id, channel_id, name) values ($1, $2, 'test') returning id`,
    [organizationId, CHANNEL.channelId],
  );
  tenant = { organizationId: String(organizationId), lineOaId: String(lineOaId) };
});
afterEach(async () => {
  await simulator.close();
  await own[Symbol.asyncDispose]();
});

/** Starts and sends what the tickets stand for; a worker that dies gets LINE's answers, and writes none. */
async function execute(tickets: readonly Ticket[], { dies = false } = {}): Promise<void> {
  const inHand = createInHand(8);
  const handle = executeActions({
    ...{
      db: own.db,
      inHand,
      limits: limitsOf({ db: own.db, inHand }).push,
      log,
      channelAccessToken: async () => CHANNEL.channelAccessToken,
    },
    line: createLineClient({ baseUrl: simulator.apiUrl, attemptTimeoutMs: 2_000 }),
    start: { claimedBy: 'line-delivery/test:1', leaseSeconds: 30, settleSeconds: 0 },
    settle: dies ? () => new Promise(() => undefined) : (settlement) => settle(own.db, settlement),
    onSettled: () => undefined,
  });
  const data = { tickets: tickets.map(({ id, fence }) => ({ id, fence })) };
  await handle(
    { id: randomUUID(), tenant, data, deliveryCount: 0, publishedAt: '' },
    { signal: new AbortController().signal },
  );
  if (!dies) await inHand.drain();
}

/** Announces and executes what is due, as sweep and queue do, until nothing is planned any more. */
async function untilNothingIsPlanned(): Promise<void> {
  const planned = () => columnOf(own.db, `select id from delivery where status = 'planned'`);
  while ((await planned()).length > 0) {
    await execute(await announceDeliveries(own.db, { limit: 10, againAfterSeconds: 0 }));
    await moveProductTime(own.db, 180); // longer than any back-off
  }
}

const planSeven = () =>
  inTransaction(own.db, (tx) => {
    const text = (n: number) => `${n} [[lid:seven:${n < 5 ? 0 : 1}]]`;
    const messages = Array.from({ length: 7 }, (_, n) => ({ type: 'text' as const, text: text(n) }));
    const request = { actionType: 'send_message' as const, actionConfig: { messages } };
    const whom = { channelId: CHANNEL.channelId, userId: nthUserId('d', 0) };
    return createDeliveries(tx, [deliveryToCreate(tenant, { ...whom, request })]);
  });

/** What may happen between the two parts. */
const BETWEEN: Readonly<Record<string, (tickets: readonly Ticket[]) => Promise<unknown>>> = {
  'nothing is amiss': async () => undefined,
  'LINE’s answer to the first part is lost': async () =>
    simulator.faults.set({
      rules: [{ id: 'F06', match: { nth: [1] }, phase: 'afterAccept', effect: { type: 'status', status: 500 } }],
    }),
  'LINE was away at first': async () =>
    simulator.faults.set({
      rules: [{ id: 'F05', match: { nth: [1, 3] }, phase: 'beforeAccept', effect: { type: 'status', status: 503 } }],
    }),
  'the worker dies after the first part': async (tickets) => {
    await execute(tickets, { dies: true });
    await expect.poll(() => [...simulator.ledger.receipts()].length).toBe(1);
    await reapEarlierBoots(own.db, { claimedBy: 'line-delivery/test:2' });
  },
};

test.for(Object.keys(BETWEEN))('seven messages come once and in order: %s [T28]', async (what) => {
  await BETWEEN[what]?.(await planSeven());
  await untilNothingIsPlanned();

  expect(await columnOf(own.db, 'select status from delivery order by ordinal')).toEqual(['accepted', 'accepted']);
  expect([...simulator.ledger.receipts()].map(({ lid }) => lid)).toEqual(['seven:0', 'seven:1']);
  const keys = await columnOf(own.db, 'select retry_key from delivery order by ordinal');
  expect([...simulator.ledger.receipts()].map(({ retryKey }) => retryKey)).toEqual(keys);
  expect([...simulator.ledger.violations()]).toEqual([]);
});

test('after a first part that LINE refuses the second never leaves [T28]', async () => {
  simulator.faults.set({
    rules: [{ id: 'F23', match: {}, phase: 'beforeAccept', effect: { type: 'status', status: 400 } }],
  });
  await planSeven();
  await untilNothingIsPlanned();
  expect(await columnOf(own.db, 'select status from delivery order by ordinal')).toEqual(['refused', 'cancelled']);
  expect([...simulator.ledger.requests()]).toHaveLength(1);
});
