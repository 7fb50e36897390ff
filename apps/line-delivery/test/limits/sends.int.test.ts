import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, insertRow, moveProductTime, testDb } from '@dueline/db/testing';
import {
  announceDeliveries,
  CEILINGS,
  createChunkDeliveries,
  createDeliveries,
  settleDeliveries,
  takeBroadcastPlaces,
} from '@dueline/deliveries';
import { createLineClient } from '@dueline/line-client';
import { type ChannelConfig, createSimulator, nthUserId } from '@dueline/line-simulator';
import { gather } from '@dueline/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { type ExecuteDeps, executeActions } from '../../src/execute-action.ts';
import { createInHand } from '../../src/in-hand.ts';
import { createLocalBuckets } from '../../src/limits/buckets.ts';
import type { LimitEvent } from '../../src/limits/limits.ts';
import { limitsOf, silent } from './support.ts';

const PATIENCE = { timeout: 60_000 };
const { signal } = new AbortController();
const HOUR = 3_600;
type Account = Tenant & { readonly channelId: string };

/** Two accounts with 2,000 friends each, and one process that sends for them. */
async function stage(db: Db, { replicas = 1, knobs }: { replicas?: number; knobs?: ChannelConfig['knobs'] } = {}) {
  let aheadMs = 0;
  const channelOf = (n: number) => ({
    channelId: `555000${n}`,
    channelAccessToken: `token-${n}`,
    ...(knobs && { knobs }),
    users: [{ prefix: `d${n}`, count: 2_000 }],
  });
  const simulator = await createSimulator({
    channels: [channelOf(0), channelOf(1)],
    clock: { now: () => Date.now() + aheadMs },
  });
  onTestFinished(() => simulator.close());
  const line = createLineClient({ baseUrl: simulator.apiUrl, attemptTimeoutMs: 5_000 });
  onTestFinished(() => line.close());
  const accounts: Account[] = [];
  for (const { channelId } of [channelOf(0), channelOf(1)]) {
    const { id: organizationId } = await insertRow(db, 'organization', { name: 'test' });
    const { id } = await insertRow(db, 'line_oa', {
      organization_id: organizationId,
      channel_id: channelId,
      name: 'test',
    });
    accounts.push({ organizationId: String(organizationId), lineOaId: String(id), channelId });
  }
  const inHand = createInHand(100);
  const events: LimitEvent[] = [];
  const limits = limitsOf({
    db,
    inHand,
    buckets: createLocalBuckets({ replicas }),
    tell: (event) => events.push(event),
  });
  const deps: Omit<ExecuteDeps, 'limits'> = {
    ...{ db, line, inHand, log: silent, onSettled: () => undefined },
    start: { claimedBy: 'line-delivery/test:1', leaseSeconds: 30, settleSeconds: 0 },
    channelAccessToken: async (lineOaId) => `token-${accounts.findIndex((account) => account.lineOaId === lineOaId)}`,
    settle: gather(
      async (settlements) => {
        const moved = await settleDeliveries(db, settlements);
        return settlements.map(({ started }) => moved.has(started.id));
      },
      { maxSize: 100 },
    ),
  };
  const execute = (queue: 'push' | 'chunks', tenant: Tenant, tickets: readonly Ticket[]) =>
    executeActions({ ...deps, limits: limits[queue] })(
      { id: crypto.randomUUID(), tenant, data: { tickets: [...tickets] }, deliveryCount: 0, publishedAt: '' },
      { signal },
    );
  /** Carries out what is due now, as the announcing sweep and the queue bring it. */
  const sweep = async () => {
    const due = await announceDeliveries(db, { limit: 2_000, againAfterSeconds: 600 });
    const groups = Map.groupBy(due, ({ lineOaId, isChunk }) => `${lineOaId} ${isChunk}`);
    await Promise.all(
      [...groups.values()].map(async ([first, ...rest]) => {
        if (first === undefined) return;
        const all = [first, ...rest];
        for (let from = 0; from < all.length; from += 100)
          await execute(first.isChunk ? 'chunks' : 'push', first, all.slice(from, from + 100));
      }),
    );
  };
  /** Moves the product's clock and LINE's. */
  const pass = async (seconds: number) => {
    aheadMs += seconds * 1_000;
    await moveProductTime(db, seconds);
  };
  const [busy, quiet] = accounts;
  if (busy === undefined || quiet === undefined) throw new Error('there are two accounts');
  return { simulator, busy, quiet, execute, sweep, pass, events };
}

const pushes = (db: Db, account: Account, count: number) =>
  inTransaction(db, (tx) =>
    createDeliveries(
      tx,
      Array.from({ length: count }, (_, n) => ({
        ...account,
        kind: 'action' as const,
        logicalId: crypto.randomUUID(),
        epoch: 1,
        userId: nthUserId(`d${account.channelId.at(-1)}`, n),
        request: {
          actionType: 'send_message' as const,
          actionConfig: { messages: [{ type: 'text' as const, text: `hello [[lid:a${account.lineOaId}-${n}]]` }] },
        },
        ...{ triggerRuleId: null, scheduledActionId: null, eventId: null, rootId: null, traceparent: undefined },
      })),
    ),
  );

/** Chunks of one campaign that is being sent. */
async function chunks(db: Db, account: Account, recipients: readonly (readonly string[] | null)[]) {
  const { organizationId, lineOaId, channelId } = account;
  const { id } = await insertRow(db, 'campaign', {
    ...{ organization_id: organizationId, line_oa_id: lineOaId, name: 'x', cast_type: 'broadcast', status: 'sending' },
    ...{ claimed_at: new Date(), start_date: new Date() },
  });
  return inTransaction(db, (tx) =>
    createChunkDeliveries(
      tx,
      recipients.map((userIds, chunkNo) => ({
        ...{ organizationId, lineOaId, channelId, campaignId: String(id), chunkNo, userIds, deliverUntil: null },
        messages: [{ type: 'text' as const, text: `all [[lid:c${chunkNo}]]` }],
      })),
    ),
  );
}

const left = async (db: Db) =>
  Number((await columnOf(db, "select count(*) from delivery where status <> 'accepted'"))[0]);

/** The limit first, last, and in between: what a 429 spends, and what is not looked at behind it. */
const ORDERS = [
  ['rateLimit', 'keySyntax', 'keyAccepted', 'validation'],
  ['validation', 'keyAccepted', 'keySyntax', 'rateLimit'],
  ['keyAccepted', 'rateLimit', 'validation', 'keySyntax'],
] as const;

test.for(ORDERS)(
  'after a burst of 429s everything arrives once, the rate is halved, and from then on LINE has nothing to complain of, checks being in the order %s, %s, %s, %s [T10] [T33]',
  PATIENCE,
  async ([...order]) => {
    await using database = await testDb();
    const { db } = database;
    const { simulator, busy, execute, sweep, events } = await stage(db, { knobs: { order } });
    simulator.faults.set({
      rules: [{ id: 'F02', match: { endpoint: 'push' }, max: 1, effect: { type: 'rateLimit' }, burst: { count: 200 } }],
    });
    const planned = await pushes(db, busy, 600);
    for (let from = 0; from < 600; from += 100) await execute('push', busy, planned.slice(from, from + 100));

    await expect.poll(() => sweep().then(() => left(db)), { timeout: 50_000, interval: 200 }).toBe(0);

    expect([...simulator.ledger.receipts()]).toHaveLength(600);
    const halvings = events.filter(({ type }) => type === 'halved');
    expect(halvings.length).toBeGreaterThanOrEqual(1);
    expect(halvings[0]).toMatchObject({ endpoint: 'push', lineOaId: busy.lineOaId, share: 0.5 });
    const refused = [...simulator.ledger.requests()].filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(200);
    expect(refused.filter(({ faultId }) => faultId === null)).toEqual([]);
    expect([...simulator.ledger.violations()]).toEqual([]); // V6 among them
  },
);

test(
  'a broadcast beyond what an hour holds waits for its hour without an attempt, and none is refused by LINE [T24]',
  PATIENCE,
  async () => {
    await using database = await testDb();
    const { db } = database;
    const { simulator, busy, execute, sweep, pass } = await stage(db);
    simulator.faults.set({
      rules: [{ id: 'F09', match: { endpoint: 'broadcast' }, max: 1, phase: 'afterAccept', effect: { type: 'reset' } }],
    });
    const planned = await chunks(
      db,
      busy,
      Array.from({ length: 61 }, () => null),
    );
    const requests = () => [...simulator.ledger.requests()];

    await execute('chunks', busy, planned);
    await expect.poll(() => columnOf(db, "select count(*) from delivery where status = 'sending'")).toEqual(['0']);

    expect(requests()).toHaveLength(40);
    const waiting = await columnOf(
      db,
      `select count(*) filter (where next_attempt_at between app_now() + interval '58 minutes' and app_now() + interval '1 hour')::int
       from delivery where status = 'planned' and not exists (select from delivery_attempt where delivery_id = id)`,
    );
    expect(waiting).toEqual(['21']);
    await pass(300);
    await sweep(); // the one in doubt, whose retry is a request as well, has to wait too
    expect(requests()).toHaveLength(40);
    await pass(HOUR);
    await expect.poll(() => sweep().then(() => left(db))).toBe(0);

    expect(requests()).toHaveLength(62);
    expect(requests().filter(({ status }) => status === 429)).toEqual([]);
    expect([...simulator.ledger.accepts()]).toHaveLength(61);
    expect([...simulator.ledger.violations()]).toEqual([]);
  },
);

test('a place of the hour is taken by what is begun only', async () => {
  await using database = await testDb();
  const { db } = database;
  const { busy, execute } = await stage(db);
  const planned = await chunks(
    db,
    busy,
    Array.from({ length: 40 }, () => null),
  );
  await db.$client.query("update campaign set status = 'paused', fence = fence + 1");

  await execute('chunks', busy, planned);
  const { broadcasts } = await takeBroadcastPlaces(db, busy, planned);

  expect(broadcasts).toHaveLength(40);
});

test('two processes take the forty places of an hour together', async () => {
  await using database = await testDb();
  const { db } = database;
  const { busy } = await stage(db);
  const planned = await chunks(
    db,
    busy,
    Array.from({ length: 60 }, () => null),
  );

  const each = await Promise.all(
    [planned.slice(0, 30), planned.slice(30)].map((tickets) => takeBroadcastPlaces(db, busy, tickets)),
  );

  expect(each.reduce((sum, { broadcasts }) => sum + broadcasts.length, 0)).toBe(40);
  expect(each.reduce((sum, { tickets }) => sum + tickets.length, 0)).toBe(40);
});

test(
  'an account that has more than its limit is put back without an attempt, and one beside it is on time',
  PATIENCE,
  async () => {
    await using database = await testDb();
    const { db } = database;
    const { simulator, busy, quiet, execute, events } = await stage(db, { replicas: 10 });
    const many = await chunks(
      db,
      busy,
      Array.from({ length: 300 }, (_, n) => [nthUserId('d0', n)]),
    );
    const [one] = await chunks(db, quiet, [[nthUserId('d1', 0)]]);

    const begin = performance.now();
    const working = Promise.all([0, 100, 200].map((from) => execute('chunks', busy, many.slice(from, from + 100))));
    await expect.poll(() => [...simulator.ledger.requests()].length, { interval: 5 }).toBeGreaterThan(0);
    const asked = performance.now();
    await execute('chunks', quiet, one === undefined ? [] : [one]);
    await expect
      .poll(() => columnOf(db, 'select status from delivery where line_oa_id = $1', [quiet.lineOaId]), { interval: 5 })
      .toEqual(['accepted']);
    expect(performance.now() - asked).toBeLessThan(1_000);
    await working;

    await expect.poll(() => columnOf(db, "select count(*) from delivery where status = 'sending'")).toEqual(['0']);
    const seconds = (performance.now() - begin) / 1_000;
    const sent = [...simulator.ledger.requests()].length - 1;
    expect(sent).toBeLessThanOrEqual((CEILINGS.multicast / 10) * seconds + 3);
    const putBack = events.reduce((sum, event) => sum + (event.type === 'put_back' ? event.count : 0), 0);
    expect(sent + putBack).toBe(300);
    const waiting = await columnOf(
      db,
      `select count(*)::int from delivery
      where status = 'planned' and next_attempt_at > created_date + interval '0.9 s' and published_at is null
        and first_attempt_at is null and not exists (select from delivery_attempt where delivery_id = id)`,
    );
    expect(waiting).toEqual([String(putBack)]);
  },
);
