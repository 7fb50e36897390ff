import { createHash } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import { columnOf, guardedMoves, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { announceDeliveries, retryKey, TRANSITIONS, wakeDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { create, HOUR, letWaitsPass, mustStart, plan, settle, start, startNow, stateOf } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const query = (text: string, values: unknown[] = []) => own.db.$client.query(text, values);

test('the moves in code are the moves of the guard', async () => {
  const moves = Object.entries(TRANSITIONS).flatMap(([from, tos]) => tos.map((to) => `${from}>${to}`));
  expect(await guardedMoves(own.db, 'delivery')).toEqual(moves.sort());
});

test('a logical send is one row with one key, created twice in a call, in two, or by two at once', async () => {
  const send = deliveryToCreate(tenant);
  const [twice, other] = await Promise.all([create(own.db, [send, send]), create(own.db, [send])]);
  expect([...twice, ...other]).toEqual([
    { ...tenant, id: expect.any(String), fence: '0', logicalId: send.logicalId, isWebhook: false },
  ]);
  expect(await create(own.db, [send])).toEqual([]);
  expect(await create(own.db, [])).toEqual([]);
  const key = retryKey({ ...send, endpoint: 'push', ordinal: 0, splitPath: '' });
  expect(await columnOf(own.db, 'select retry_key from delivery')).toEqual([key]);
});

test('what is started is the exact body that was stored, with its key, and its attempt is written ahead', async () => {
  const { id } = await plan(own.db, tenant, { traceparent: 'trace' });
  const [stored] = (await query('select retry_key, body, body_sha256 from delivery')).rows;
  const started = await mustStart(own.db, tenant, id);
  expect(started).toEqual({
    ...tenant,
    id,
    intact: true,
    endpoint: 'push',
    campaignId: null,
    fence: '1',
    attemptNo: 1,
    verdict: 'clean',
    refusals: 0,
    splitPath: '',
    retryKey: stored.retry_key,
    body: stored.body,
    traceparent: 'trace',
  });
  expect(JSON.parse(started.body)).toEqual({
    to: expect.stringMatching(/^U/),
    messages: [{ type: 'text', text: 'hello 🎉' }],
  });
  expect(createHash('sha256').update(started.body).digest('hex')).toBe(stored.body_sha256);
  const attempts = await query(
    `select attempt_no, fence, claimed_by, retry_key, outcome, organization_id, line_oa_id from delivery_attempt`,
  );
  expect(attempts.rows).toEqual([
    {
      attempt_no: 1,
      fence: '1',
      claimed_by: 'sender-1:boot',
      retry_key: stored.retry_key,
      outcome: null,
      organization_id: tenant.organizationId,
      line_oa_id: tenant.lineOaId,
    },
  ]);
});

test('nothing starts in the quiet hours of its account, but what LINE may have already, or where they are ignored', async () => {
  const [doubted, quiet, later] = [await plan(own.db, tenant), await plan(own.db, tenant), await plan(own.db, tenant)];
  await settle(own.db, await mustStart(own.db, tenant, doubted.id), { outcome: 'ambiguous' });
  await letWaitsPass(own.db);
  const local = (hours: number) => `to_char((app_now() + interval '${hours} hours') at time zone timezone, 'HH24:MI')`;
  await query(`update line_oa set quiet_from = ${local(-1)}, quiet_to = ${local(1)}`);
  expect(await startNow(own.db, tenant, quiet.id)).toBeUndefined();
  expect((await startNow(own.db, tenant, doubted.id))?.verdict).toBe('ambiguous');
  await query(`update line_oa set quiet_policy = 'ignore'`);
  expect(await startNow(own.db, tenant, quiet.id)).toBeDefined();
  await query(`update line_oa set quiet_policy = 'shift'`);
  expect(await startNow(own.db, tenant, later.id)).toBeUndefined();
  await moveProductTime(own.db, HOUR);
  expect(await startNow(own.db, tenant, later.id)).toBeDefined();
});

test('of many starters at once one gets the delivery', async () => {
  const tickets = [await plan(own.db, tenant), await plan(own.db, tenant)];
  const started = await Promise.all(
    Array.from({ length: 10 }, (_, n) => start(own.db, tenant, { tickets: n % 2 ? tickets : tickets.toReversed() })),
  );
  expect(
    started
      .flat()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(tickets.map(({ id }) => id).sort());
  expect(await columnOf(own.db, 'select count(*) from delivery_attempt')).toEqual(['2']);
});

test('a ticket that is named twice is started once', async () => {
  const ticket = await plan(own.db, tenant);
  expect(await start(own.db, tenant, { tickets: [ticket, ticket] })).toHaveLength(1);
});

const REFUSED: [string, string][] = [
  ['is not due', `next_attempt_at = app_now() + interval '1 ms', fence = fence`],
  ['is too late and clean', 'deliver_until = app_now()'],
  ['has used its key for 23 hours', `first_attempt_at = app_now() - interval '23 hours'`],
  ['is cancelled', `status = 'cancelled', fence = fence + 1`],
];

test.for(REFUSED)('a delivery that %s is not started', async ([, change]) => {
  const { id } = await plan(own.db, tenant);
  await query(
    `create or replace function app_now() returns timestamptz language sql stable as $$ select timestamptz '${new Date().toISOString()}' $$`,
  ); // stands still
  await query(`update delivery set ${change} where id = $1`, [id]);
  expect(await startNow(own.db, tenant, id)).toBeUndefined();
  expect(await columnOf(own.db, 'select count(*) from delivery_attempt')).toEqual(['0']);
});

test.for(['paused_auth', 'paused_quota', 'paused_by_person'])(
  'a delivery of an account that is %s waits while it is clean, and its key goes on being asked for while it is in doubt',
  async (status) => {
    const { id } = await plan(own.db, tenant);
    const inDoubt = await plan(own.db, tenant);
    await settle(own.db, await mustStart(own.db, tenant, inDoubt.id), { outcome: 'ambiguous' });
    await query(`update delivery set next_attempt_at = app_now()`);
    await query('update line_oa set status = $1', [status]);
    expect(await startNow(own.db, tenant, id)).toBeUndefined();
    expect(await startNow(own.db, tenant, inDoubt.id)).toMatchObject({ verdict: 'ambiguous' });
    await query(`update line_oa set status = 'active'`);
    expect(await startNow(own.db, tenant, id)).toBeDefined();
  },
);

test('a delivery says how often LINE has refused its present key', async () => {
  const { id } = await plan(own.db, tenant);
  await settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'refused', holdMs: 1_000 });
  await letWaitsPass(own.db);
  expect(await mustStart(own.db, tenant, id)).toMatchObject({ verdict: 'clean', refusals: 1, attemptNo: 2 });
});

test('what an account has planned is announced at once when it is woken, however often it was announced in vain', async () => {
  const { id } = await plan(own.db, tenant);
  const other = await plan(own.db, await insertTenant(own.db));
  const announce = () => announceDeliveries(own.db, { limit: 10, againAfterSeconds: 60 });
  await query('update delivery set published_at = null');
  expect(await announce()).toHaveLength(2);
  expect(await announce()).toEqual([]);
  expect(await wakeDeliveries(own.db, tenant)).toBe(1);
  expect((await announce()).map((ticket) => ticket.id)).toEqual([id]);
  expect(other.id).not.toBe(id);

  await settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'throttled', holdMs: HOUR * 1_000 });
  expect(await announce()).toEqual([]);
  expect(await wakeDeliveries(own.db, tenant)).toBe(1);
  expect((await announce()).map((ticket) => ticket.id)).toEqual([id]);
});

test.for(['line_oa', 'organization'])(
  'a delivery whose %s is stopped is neither announced nor started, not even to learn what became of it, until it is resumed',
  async (stopped) => {
    const { id } = await plan(own.db, tenant);
    const inDoubt = await plan(own.db, tenant);
    await settle(own.db, await mustStart(own.db, tenant, inDoubt.id), { outcome: 'ambiguous' });
    await query(`update delivery set next_attempt_at = app_now()`);
    await query(`update ${stopped} set stopped_at = app_now()`);
    for (const delivery of [id, inDoubt.id]) expect(await startNow(own.db, tenant, delivery)).toBeUndefined();
    expect(await announceDeliveries(own.db, { limit: 10, againAfterSeconds: 0 })).toEqual([]);
    await query(`update ${stopped} set stopped_at = null`);
    expect(await announceDeliveries(own.db, { limit: 10, againAfterSeconds: 0 })).toHaveLength(2);
    for (const delivery of [id, inDoubt.id]) expect(await startNow(own.db, tenant, delivery)).toBeDefined();
  },
);

test('a ticket of another tenant or fence, or none at all, starts nothing', async () => {
  const ticket = await plan(own.db, tenant);
  const stranger = await insertTenant(own.db);
  expect(await start(own.db, stranger, { tickets: [ticket] })).toEqual([]);
  expect(await start(own.db, { ...stranger, lineOaId: tenant.lineOaId }, { tickets: [ticket] })).toEqual([]);
  expect(await start(own.db, tenant, { tickets: [{ ...ticket, fence: '1' }] })).toEqual([]);
  expect(await start(own.db, tenant, { tickets: [] })).toEqual([]);
});

test('while an attempt may still be on its way no other is made', async () => {
  const { id } = await plan(own.db, tenant);
  await mustStart(own.db, tenant, id);
  await query(`update delivery set status = 'planned', fence = fence + 1, lease_until = null`); // as the reaper does
  expect(await startNow(own.db, tenant, id)).toBeUndefined();
  await query(`update delivery_attempt set started_at = clock_timestamp() - interval '31 s'`);
  expect(await startNow(own.db, tenant, id)).toMatchObject({ attemptNo: 2, verdict: 'ambiguous' });
});

test('an ambiguous delivery is repeated with its key although it is late, but not after 23 hours', async () => {
  const { id } = await plan(own.db, tenant);
  const first = await mustStart(own.db, tenant, id);
  await settle(own.db, first, { outcome: 'ambiguous' });
  await moveProductTime(own.db, 22.9 * HOUR);
  await query(`update delivery set deliver_until = app_now() - interval '1 hour'`);
  const second = await mustStart(own.db, tenant, id);
  expect(second).toMatchObject({ verdict: 'ambiguous', retryKey: first.retryKey, body: first.body });
  await settle(own.db, second, { outcome: 'ambiguous' });
  await moveProductTime(own.db, 0.2 * HOUR);
  expect(await startNow(own.db, tenant, id)).toBeUndefined();
});

test('an attempt that reached nobody leaves the delivery clean', async () => {
  const { id } = await plan(own.db, tenant);
  for (const outcome of ['auth', 'throttled', 'not_reached'] as const) {
    const started = await mustStart(own.db, tenant, id);
    expect(started.verdict).toBe('clean');
    await settle(own.db, started, { outcome });
    await letWaitsPass(own.db);
  }
  expect(await stateOf(own.db, id)).toBe('planned 6 not_reached auth,throttled,not_reached');
});

test('a stored body that is not the one its hash was taken of is told, and its neighbours start all the same', async () => {
  const tickets = [await plan(own.db, tenant), await plan(own.db, tenant)];
  await query(
    `alter table delivery disable trigger delivery_content_is_fixed; update delivery set body = '{}' where id = ${tickets[1]?.id}`,
  );
  const started = await start(own.db, tenant, { tickets });
  expect(started.map(({ intact }) => intact)).toEqual([true, false]);
});
