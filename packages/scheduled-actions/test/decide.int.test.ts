import type { Tenant, TenantTicket } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, guardedMoves, insertTenant, lockWaiters, type TestDb, testDb } from '@dueline/db/testing';
import {
  type ActionOutcome,
  finishActions,
  holdActions,
  releaseActions,
  TRANSITIONS,
} from '@dueline/scheduled-actions';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim, each, schedule } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const hold = (tickets: readonly TenantTicket[]) => inTransaction(own.db, (tx) => holdActions(tx, tickets));
const finish = (outcomes: readonly ActionOutcome[]) => inTransaction(own.db, (tx) => finishActions(tx, outcomes));

test('the moves in code are the moves of the guard', async () => {
  const moves = Object.entries(TRANSITIONS).flatMap(([from, tos]) => tos.map((to) => `${from}>${to}`));
  expect(await guardedMoves(own.db, 'scheduled_action')).toEqual(moves.sort());
});

test('a held action is told whole, in id order, once however often its ticket is named', async () => {
  const eventId = crypto.randomUUID();
  const ids = await schedule(own.db, tenant, {
    count: 3,
    eventId,
    rootId: eventId,
    sourceConfig: { attribute: 'plan', to: 'gold' },
    traceparent: 'trace',
  });
  const tickets = await claim(own.db);
  const held = await hold([...tickets, ...tickets].toReversed());
  expect(held.map(({ id }) => id)).toEqual(ids);
  expect(held[0]).toEqual({
    ...tenant,
    channelId: expect.any(String),
    ...{ id: ids[0], fence: '1', userId: expect.stringMatching(/^U/), triggerRuleId: null, ruleVersion: null },
    ...{ eventId, rootId: eventId, retryCount: 0, gen: 0, traceparent: 'trace' },
    ...{ rescueCount: 0, alone: false, overdue: false, stopped: false, calledOff: false, quietUntil: null },
    quietPolicy: 'shift',
    ...{ meantFor: null, lateSeconds: expect.any(Number) },
    request: { actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'hello' }] } },
    sourceConfig: { attribute: 'plan', to: 'gold' },
    ...{ delaySpec: { mode: 'normal', seconds: 0, reEvaluateConditions: false }, isWaiting: false, branch: null },
  });
  expect(await hold([])).toEqual([]);
});

test.for(['ste:', 'ste::x', 'ste:x:1', 'ste:99999999999999999999999:U1', 'ste:1'])(
  'a key that only looks like that of a cycle (%s) is one like any other',
  async (dedupKey) => {
    const ids = await schedule(own.db, tenant, { dedupKey });
    await own.db.$client.query(`update scheduled_action set anchor_ref = 'attribute:born'`);
    await own.db.$client.query(
      'insert into frequency_cap (organization_id, line_oa_id, window_seconds, max_messages) values ($1, $2, 60, 1)',
      [tenant.organizationId, tenant.lineOaId],
    );
    const held = await hold(await claim(own.db));
    expect(held.map(({ id, calledOff, meantFor }) => [id, calledOff, meantFor?.length])).toEqual([[ids[0], false, 2]]);
  },
);

test('a ticket that names another tenant than its row’s holds nothing', async () => {
  await schedule(own.db, tenant);
  const tickets = await claim(own.db);
  const other = await insertTenant(own.db);

  expect(await hold(tickets.map((ticket) => ({ ...ticket, ...other })))).toEqual([]);
  expect(await hold(tickets.map((ticket) => ({ ...ticket, organizationId: other.organizationId })))).toEqual([]);
  expect(await hold(tickets)).toHaveLength(1);
});

test('a second holder waits for the first and then finds nothing', async () => {
  await schedule(own.db, tenant);
  const tickets = await claim(own.db);
  const held = Promise.withResolvers<void>();
  const decide = Promise.withResolvers<void>();
  const first = inTransaction(own.db, async (tx) => {
    const [action] = await holdActions(tx, tickets);
    held.resolve();
    await decide.promise;
    if (action !== undefined) await finishActions(tx, [{ id: action.id, fence: action.fence, to: 'done' }]);
  });
  await held.promise;
  const second = hold(tickets);
  await lockWaiters(own.db);
  decide.resolve();
  await first;
  expect(await second).toEqual([]);
  expect(await each(own.db, `status || fence`)).toEqual(['done2']);
});

const OUTCOMES: { outcome: Omit<ActionOutcome, 'id' | 'fence'>; expected: string }[] = [
  { outcome: { to: 'done' }, expected: 'done|2|0|true|-|-' },
  { outcome: { to: 'cancelled', reason: 'rule_deleted' } as never, expected: 'cancelled|2|0|true|rule_deleted|-' },
  {
    outcome: { to: 'failed', error: 'no\u0000t \ud800 now' } as never,
    expected: 'failed|2|0|true|-|no\uFFFDt \uFFFD now',
  },
  { outcome: { to: 'pending', error: 'again', retryInMs: 60_000 } as never, expected: 'pending|2|1|false|-|again' },
];
const STATE = `concat_ws('|', status, fence, retry_count, executed_at is not null, coalesce(cancel_reason, '-'), coalesce(last_error, '-'))`;
const asText = (state: string) => state.replace('|true|', '|t|').replace('|false|', '|f|');

test.for(OUTCOMES)('finish writes $outcome.to [SEM-113]', async ({ outcome, expected }) => {
  await schedule(own.db, tenant);
  const [ticket] = await claim(own.db);
  if (ticket === undefined) throw new Error('nothing claimed');
  const moved = await finish([{ ...ticket, ...outcome } as ActionOutcome]);
  expect([...moved]).toEqual([ticket.id]);
  expect(await each(own.db, STATE)).toEqual([asText(expected)]);
  expect([...(await finish([{ ...ticket, ...outcome } as ActionOutcome]))]).toEqual([]); // its fence moved on
});

test('of a batch only the rows whose fence still fits move, and the call says which [SEM-053]', async () => {
  await schedule(own.db, tenant, { count: 4 });
  const tickets = await claim(own.db);
  const [first, second, third, fourth] = tickets;
  if (!first || !second || !third || !fourth) throw new Error('nothing claimed');
  await releaseActions(own.db, [second]);
  const moved = await finish([
    { ...first, to: 'done' },
    { ...second, to: 'done' },
    { ...third, fence: '0', to: 'done' },
    { ...fourth, to: 'failed', error: 'x' },
  ]);
  expect([...moved].sort()).toEqual([first.id, fourth.id].sort());
  const found = await columnOf(
    own.db,
    `select status from scheduled_action where id = any($1) order by array_position($1, id)`,
    [tickets.map(({ id }) => id)],
  );
  expect(found).toEqual(['done', 'pending', 'processing', 'failed']);
  expect([...(await finish([]))]).toEqual([]);
});

test('an id beyond the safe numbers of JavaScript keeps every digit from claim to finish [SEM-116]', async () => {
  await own.db.$client.query('alter table scheduled_action alter id restart with 9007199254740993');
  expect(await schedule(own.db, tenant)).toEqual(['9007199254740993']);
  const tickets = await claim(own.db);
  expect((await hold(tickets)).map(({ id }) => id)).toEqual(['9007199254740993']);
  expect([...(await finish(tickets.map((ticket) => ({ ...ticket, to: 'done' as const }))))]).toEqual([
    '9007199254740993',
  ]);
});

test('a retry waits its back-off in product time and keeps what was due when', async () => {
  await schedule(own.db, tenant);
  const [ticket] = await claim(own.db);
  if (ticket === undefined) throw new Error('nothing claimed');
  await finish([{ ...ticket, to: 'pending', error: 'x', retryInMs: 90_500 }]);
  expect(await each(own.db, 'extract(epoch from execute_at - app_now()) between 89 and 90.5')).toEqual(['true']);
  expect(await each(own.db, 'due_at < app_now()')).toEqual(['true']);
  expect(await claim(own.db)).toEqual([]);
});
