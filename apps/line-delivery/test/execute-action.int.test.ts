import { randomUUID } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { moveProductTime, testDb } from '@dueline/db/testing';
import { announceDeliveries, createDeliveries, reapEarlierBoots, settleDeliveries } from '@dueline/deliveries';
import { createLineClient } from '@dueline/line-client';
import { createSimulator, nthUserId } from '@dueline/line-simulator';
import { gather } from '@dueline/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { type ExecuteDeps, executeActions } from '../src/execute-action.ts';
import { createInHand } from '../src/in-hand.ts';
import { limitsOf } from './limits/support.ts';

const CHANNEL = { channelId: '5550001', channelAccessToken: 'a-token' };
const context = { signal: new AbortController().signal };
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

async function stage(db: Db, parts: Partial<ExecuteDeps> = {}) {
  const simulator = await createSimulator({ channels: [{ ...CHANNEL, users: [{ prefix: 'd', count: 200 }] }] });
  onTestFinished(() => simulator.close());
  const line = createLineClient({ baseUrl: simulator.apiUrl, attemptTimeoutMs: 2_000 });
  const { rows } = await db.$client.query<{ organization_id: string; id: string }>(
    `
    with org as (insert into organization (name) values ('test') returning id)
    insert into line_oa (organization_id, channel_id, name) select id, $1, 'test' from org returning organization_id, id`,
    [CHANNEL.channelId],
  );
  const tenant: Tenant = { organizationId: rows[0]?.organization_id ?? '', lineOaId: rows[0]?.id ?? '' };
  const inHand = createInHand(8);
  const deps: ExecuteDeps = {
    db,
    line,
    inHand,
    limits: limitsOf({ db, inHand }).push,
    log,
    start: { claimedBy: 'line-delivery/test:1', leaseSeconds: 5, settleSeconds: 0 },
    channelAccessToken: async () => CHANNEL.channelAccessToken,
    settle: gather(
      async (settlements) => {
        const moved = await settleDeliveries(db, settlements);
        return settlements.map(({ started }) => moved.has(started.id));
      },
      { maxSize: 50 },
    ),
    onSettled: () => undefined,
    ...parts,
  };
  return { simulator, tenant, deps, inHand };
}

const plan = (db: Db, tenant: Tenant, users: number) =>
  inTransaction(db, (tx) =>
    createDeliveries(
      tx,
      Array.from({ length: users }, (_, n) => ({
        ...tenant,
        channelId: CHANNEL.channelId,
        kind: 'action' as const,
        logicalId: String(n + 1),
        epoch: 1,
        userId: nthUserId('d', n),
        request: {
          actionType: 'send_message' as const,
          actionConfig: { messages: [{ type: 'text' as const, text: `こんにちは [[lid:a${n}]]` }] },
        },
        ...{ triggerRuleId: null, scheduledActionId: null, eventId: null, rootId: null, traceparent: undefined },
      })),
    ),
  );

const message = <Data>(tenant: Tenant, data: Data) => ({
  id: randomUUID(),
  tenant,
  data,
  deliveryCount: 0,
  publishedAt: '',
});

async function statuses(db: Db): Promise<Record<string, number>> {
  const { rows } = await db.$client.query<{ status: string; count: number }>(
    'select status, count(*)::int as count from delivery group by 1',
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

test('each planned delivery reaches LINE once under its own key, more of them than there are slots', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, deps, simulator, inHand } = await stage(db);
  const tickets = await plan(db, tenant, 60);

  const outcome = await executeActions(deps)(message(tenant, { tickets }), context);
  await inHand.drain();

  expect(outcome).toEqual({ outcome: 'done', detail: { started: 60 } });
  expect(await statuses(db)).toEqual({ accepted: 60 });
  expect([...simulator.ledger.receipts()]).toHaveLength(60);
  expect([...simulator.ledger.violations()]).toEqual([]);
});

test('a message that is delivered twice, even at the same moment, sends nothing twice [T09]', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, deps, simulator, inHand } = await stage(db);
  const copy = message(tenant, { tickets: await plan(db, tenant, 20) });
  const execute = executeActions(deps);

  await Promise.all([execute(copy, context), execute(copy, context), execute(copy, context)]);
  await inHand.drain();

  expect([...simulator.ledger.requests()]).toHaveLength(20);
  expect(await statuses(db)).toEqual({ accepted: 20 });
});

test('after a crash between LINE’s answer and its record the key is repeated, and LINE has it accepted once', async () => {
  await using database = await testDb();
  const { db } = database;
  const dead = await stage(db, { settle: () => new Promise(() => undefined) }); // dies before it writes
  const tickets = await plan(db, dead.tenant, 5);
  await executeActions(dead.deps)(message(dead.tenant, { tickets }), context);
  await expect.poll(() => [...dead.simulator.ledger.receipts()].length).toBe(5);

  await reapEarlierBoots(db, { claimedBy: 'line-delivery/test:2' });
  const { rows } = await db.$client.query<{ id: string; fence: string }>('select id, fence from delivery');
  const settle = async (settlement: Parameters<ExecuteDeps['settle']>[0]) =>
    (await settleDeliveries(db, [settlement])).size === 1;
  const inHand = createInHand(8);
  const limits = limitsOf({ db, inHand }).push;
  await executeActions({ ...dead.deps, settle, inHand, limits })(message(dead.tenant, { tickets: rows }), context);
  await inHand.drain();

  expect(await statuses(db)).toEqual({ accepted: 5 });
  expect([...dead.simulator.ledger.receipts()]).toHaveLength(5);
  const attempts = await db.$client.query(
    'select outcome, count(*)::int as count from delivery_attempt group by 1 order by 1',
  );
  expect(attempts.rows).toEqual([
    { outcome: 'already', count: 5 },
    { outcome: null, count: 5 },
  ]);
});

const UNSERVED: readonly (readonly [string, Partial<ExecuteDeps>, string])[] = [
  ['LINE is not there', { line: createLineClient({ baseUrl: 'http://127.0.0.1:54321' }) }, 'not_reached'],
  ['the token is wrong', { channelAccessToken: async () => 'wrong' }, 'auth'],
  [
    'the token cannot be had',
    { channelAccessToken: (): Promise<string> => Promise.reject(new Error('no key')) },
    'auth',
  ],
];

test.for(UNSERVED)(
  'when %s, the delivery stays planned with its reason and nobody receives it',
  async ([, parts, reason]) => {
    await using database = await testDb();
    const { db } = database;
    const { tenant, deps, simulator, inHand } = await stage(db, parts);

    await executeActions(deps)(message(tenant, { tickets: await plan(db, tenant, 1) }), context);
    await inHand.drain();

    const { rows } = await db.$client.query('select status, reason_code, published_at from delivery');
    expect(rows).toEqual([{ status: 'planned', reason_code: reason, published_at: null }]);
    expect([...simulator.ledger.receipts()]).toEqual([]);
  },
);

test('what LINE refuses ends as refused, with LINE’s words in its attempt', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, deps, inHand } = await stage(db);
  await plan(db, tenant, 201); // the last one is nobody that this channel knows
  const stranger = await db.$client.query<{ id: string; fence: string }>(
    'select id, fence from delivery where user_id = $1',
    [nthUserId('d', 200)],
  );

  await executeActions(deps)(message(tenant, { tickets: stranger.rows }), context);
  await inHand.drain();

  const { rows } = await db.$client.query(
    'select status, outcome, http_status, detail from delivery join delivery_attempt on delivery_id = id',
  );
  expect(rows).toMatchObject([
    {
      status: 'refused',
      outcome: 'refused',
      http_status: 400,
      detail: expect.stringContaining('Failed to send messages'),
    },
  ]);
});

test('a body that was changed behind the product’s back is never sent; its neighbours are', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, deps, simulator, inHand } = await stage(db);
  const tickets = await plan(db, tenant, 3);
  await db.$client.query(
    `alter table delivery disable trigger delivery_content_is_fixed; update delivery set body = '{}' where logical_id = '2'`,
  );

  await executeActions(deps)(message(tenant, { tickets }), context);
  await inHand.drain();

  expect(await statuses(db)).toEqual({ accepted: 2, refused: 1 });
  expect([...simulator.ledger.requests()]).toHaveLength(2);
});

test('a stop leaves what was not begun to the redelivery', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, deps, inHand } = await stage(db);
  const tickets = await plan(db, tenant, 3);
  await inHand.drain();

  await expect(executeActions(deps)(message(tenant, { tickets }), context)).rejects.toThrow('stopped');
  expect(await statuses(db)).toEqual({ planned: 3 });
});

test('what is sent in quiet hours waits for their end, and leaves then: it is not announced in vain until then, nor late after', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, deps, inHand } = await stage(db);
  const tickets = await plan(db, tenant, 3);
  const local = (hours: number) => `to_char((app_now() + interval '${hours} hours') at time zone timezone, 'HH24:MI')`;
  await db.$client.query(`update line_oa set quiet_from = ${local(-1)}, quiet_to = ${local(2)}, spread_minutes = 0`);
  expect(await executeActions(deps)(message(tenant, { tickets }), context)).toMatchObject({ outcome: 'discarded' });
  const again = () => announceDeliveries(db, { limit: 10, againAfterSeconds: 0 });
  expect(await again()).toEqual([]);
  await moveProductTime(db, 2 * 3_600);
  const due = await again();
  expect(due).toHaveLength(3);
  await executeActions(deps)(message(tenant, { tickets: due }), context);
  await inHand.drain();
  expect(await statuses(db)).toEqual({ accepted: 3 });
});
