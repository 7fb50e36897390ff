import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { checkAndCompleteDelayWait, type Fact } from '@dueline/scheduled-actions';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  shared = await testDb();
  tenant = await insertTenant(shared.db);
  other = await insertTenant(shared.db);
});
afterAll(() => shared[Symbol.asyncDispose]());
beforeEach(() => shared.db.$client.query('delete from scheduled_action'));

const ANCHOR = '2026-03-01T00:00:00Z';
const DEADLINE = '2026-03-02T00:00:00Z';

interface Wait {
  readonly source: string;
  readonly ref_id?: string;
  readonly branch: string;
}

/** A row that waits for any of `waits` from ANCHOR to DEADLINE. */
async function waitingAction(waits: readonly Wait[], changes: Record<string, unknown> = {}): Promise<string> {
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: lineUserId(1) };
  const { id } = await insertRow(shared.db, 'scheduled_action', {
    ...{ ...base, action_type: 'send_message', action_config: {}, dedup_key: crypto.randomUUID() },
    ...{ execute_at: DEADLINE, due_at: DEADLINE, anchor_at: ANCHOR, expires_at: DEADLINE, ...changes },
  });
  for (const [n, wait] of waits.entries())
    await insertRow(shared.db, 'action_wait', { ...base, scheduled_action_id: id, n, ...wait });
  return String(id);
}

const CLICK: Wait = { source: 'link', ref_id: '7', branch: 'clicked' };

const fact = (changes: Partial<Fact> = {}): Fact => ({
  ...{ ...tenant, userId: lineUserId(1), source: 'link', refId: '7' },
  ...{ occurredAt: '2026-03-01T12:00:00Z', eventId: crypto.randomUUID(), ...changes },
});

const meet = async (...facts: Fact[]) =>
  (await inTransaction(shared.db, (tx) => checkAndCompleteDelayWait(tx, facts))).map(
    ({ scheduledActionId, result, branch }) => ({ scheduledActionId, result, branch }),
  );

const stateOf = async (id: string) => {
  const { rows } = await shared.db.$client.query(
    `select branch, lane, fence, status, execute_at <= app_now() as due, due_at = execute_at as meant from scheduled_action where id = $1`,
    [id],
  );
  return rows[0];
};

const UNTOUCHED = { branch: null, lane: 1, fence: '0', status: 'pending' };

test('a fact in time ends the wait: its branch, due now, ahead of others, under a new fence', async () => {
  const id = await waitingAction([CLICK]);
  expect(await meet(fact())).toEqual([{ scheduledActionId: id, result: 'completed', branch: 'clicked' }]);
  expect(await stateOf(id)).toEqual({
    branch: 'clicked',
    lane: 0,
    fence: '1',
    status: 'pending',
    due: true,
    meant: true,
  });
});

test.for<[string, () => Partial<Fact>]>([
  ['of another person', () => ({ userId: lineUserId(2) })],
  ['of the same person of another account', () => other],
  ['about another link', () => ({ refId: '8' })],
  ['of another kind with the same id', () => ({ source: 'form' })],
  ['from before the wait began', () => ({ occurredAt: '2026-02-28T23:59:59.999999Z' })],
])('a fact %s meets nothing', async ([, changes]) => {
  const id = await waitingAction([CLICK]);
  expect(await meet(fact(changes()))).toEqual([]);
  expect(await stateOf(id)).toMatchObject(UNTOUCHED);
});

test.for([
  ['at the instant the wait began', ANCHOR, 'completed'],
  ['a microsecond before the deadline', '2026-03-01T23:59:59.999999Z', 'completed'],
  ['at the instant of the deadline', DEADLINE, 'late'],
  ['years after', '2036-03-02T00:00:00Z', 'late'],
] as const)('a fact %s is judged by when it happened', async ([, occurredAt, result]) => {
  const id = await waitingAction([CLICK]);
  expect(await meet(fact({ occurredAt }))).toEqual([
    { scheduledActionId: id, result, branch: result === 'completed' ? 'clicked' : null },
  ]);
});

test.for<[string, Record<string, unknown>, { result: string; branch: string | null }]>([
  ['completed it already', { branch: 'submitted', lane: 0 }, { result: 'late', branch: 'submitted' }],
  ['saw it expire', { branch: 'expired', status: 'done', executed_at: ANCHOR }, { result: 'late', branch: 'expired' }],
  [
    'was cancelled',
    { status: 'cancelled', cancel_reason: 'user', executed_at: ANCHOR },
    { result: 'late', branch: null },
  ],
  ['is being decided', { status: 'processing', lease_until: DEADLINE }, { result: 'deciding', branch: null }],
])('a fact for a wait that %s changes nothing', async ([, state, met]) => {
  const id = await waitingAction([CLICK], state);
  const before = await stateOf(id);
  expect(await meet(fact())).toEqual([{ scheduledActionId: id, ...met }]);
  expect(await stateOf(id)).toEqual(before);
});

test('of several facts told at once the earliest in its time decides', async () => {
  const id = await waitingAction([CLICK, { source: 'form', branch: 'submitted' }]);
  const late = fact({ occurredAt: '2026-03-01T12:00:00Z' });
  const early = fact({ source: 'form', refId: '9', occurredAt: '2026-03-01T11:59:59.999999Z' });
  expect(await meet(late, early)).toEqual([{ scheduledActionId: id, result: 'completed', branch: 'submitted' }]);
});

test('one fact ends every wait of the person for it, and a repeated one ends none twice', async () => {
  const ids = [await waitingAction([CLICK]), await waitingAction([{ source: 'link', branch: 'any_link' }])];
  const click = fact();
  const meetings = await meet(click, click);
  expect(meetings).toEqual([
    { scheduledActionId: ids[0], result: 'completed', branch: 'clicked' },
    { scheduledActionId: ids[1], result: 'completed', branch: 'any_link' },
  ]);
  expect((await meet(click)).map(({ result }) => result)).toEqual(['late', 'late']);
  expect(await Promise.all(ids.map(stateOf))).toMatchObject([{ fence: '1' }, { fence: '1' }]);
});

test('of two facts at the same moment one ends the wait', async () => {
  const id = await waitingAction([CLICK, { source: 'form', branch: 'submitted' }]);
  const results = await Promise.all([meet(fact()), meet(fact({ source: 'form', refId: null }))]);
  expect(
    results
      .flat()
      .map(({ result }) => result)
      .sort(),
  ).toEqual(['completed', 'late']);
  expect(await stateOf(id)).toMatchObject({ fence: '1' });
});
