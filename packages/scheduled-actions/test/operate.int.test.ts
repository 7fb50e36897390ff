import type { Tenant, TenantTicket } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { type ActionOperation, checkAndCompleteDelayWait, type Fact, operate } from '@dueline/scheduled-actions';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  act,
  claimed,
  decideAs,
  editsOf,
  ended,
  HELLO,
  inOrder,
  insertAction,
  meanwhile,
  noDeliveries,
  rowOf,
} from './operating.ts';
import { claim } from './support.ts';

let shared: TestDb;
let tenant: Tenant;
let other: Tenant;
beforeAll(async () => {
  shared = await testDb();
  tenant = await insertTenant(shared.db, { timezone: 'Asia/Tokyo' });
  other = await insertTenant(shared.db);
});
afterAll(() => shared[Symbol.asyncDispose]());
beforeEach(() => shared.db.$client.query('delete from scheduled_action; delete from delivery'));

const insert = (columns: Record<string, unknown> = {}) => insertAction(shared.db, tenant, columns);
const row = (id: string, columns?: string) => rowOf(shared.db, id, columns);
const person = (id: string, operation: ActionOperation, fence?: string) =>
  act(shared.db, tenant, { id, operation, ...(fence === undefined ? {} : { fence }) });

const decide = (ticket: TenantTicket, to?: 'done' | 'failed') => decideAs(shared.db, ticket, to);
const click = (): Fact => ({
  ...{ ...tenant, userId: lineUserId(1), source: 'link', refId: '7' },
  ...{ occurredAt: new Date().toISOString(), eventId: crypto.randomUUID() },
});
const tell = (fact: Fact) =>
  inTransaction(shared.db, (tx) => checkAndCompleteDelayWait(tx, [fact])).then((met) =>
    met.map(({ result }) => result),
  );

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);
const ahead = (seconds: number) => ago(-seconds);
const NEXT_YEAR = new Date().getUTCFullYear() + 1;

/** Waits for link 7 from an hour ago to an hour ahead. */
async function insertWaiting(columns: Record<string, unknown> = {}): Promise<string> {
  const deadline = ahead(3_600);
  const id = await insert({
    anchor_at: ago(3_600),
    expires_at: deadline,
    execute_at: deadline,
    due_at: deadline,
    ...columns,
  });
  await insertRow(shared.db, 'action_wait', {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: lineUserId(1) },
    ...{ scheduled_action_id: id, n: 0, source: 'link', ref_id: '7', branch: 'clicked' },
  });
  return id;
}

test('[T11] an edit of the time is due then, and hangs on no date any more', async () => {
  const id = await insert({ anchor_ref: 'booking:1' });

  expect(await person(id, { kind: 'edit', at: `${NEXT_YEAR}-06-01T10:00` })).toEqual({
    id,
    result: 'changed',
    fence: '1',
  });

  const at = new Date(`${NEXT_YEAR}-06-01T10:00+09:00`);
  expect(await row(id)).toMatchObject({
    status: 'pending',
    execute_at: at,
    due_at: at,
    anchor_ref: null,
    expires_at: null,
  });
});

test('[T11] an edit of the content leaves the time, and all that is not a message', async () => {
  const id = await insert({ action_config: { ...HELLO, note: 'kept' } });
  const before = await row(id);

  await person(id, { kind: 'edit', messages: [{ type: 'text', text: 'おはよう' }] });

  const messages = [{ type: 'text', text: 'おはよう' }];
  expect(await row(id)).toMatchObject({
    action_config: { messages, note: 'kept' },
    execute_at: before.execute_at,
    fence: '1',
  });
});

test.for<[string, number, number]>([
  ['counts from when it is due', 3_600, 5_400],
  ['of what is overdue counts from now', -7_200, 1_800],
])('[T11] a postponement %s', async ([, dueIn, expected]) => {
  const id = await insert({ execute_at: ahead(dueIn) });
  await person(id, { kind: 'postpone', seconds: 1_800 });
  const { ms } = await row(id, 'extract(epoch from execute_at - app_now()) * 1000 as ms');
  expect(Math.abs(Number(ms) / 1_000 - expected)).toBeLessThan(10);
});

test('[T11] what is fired now is due at once, ahead of others', async () => {
  const id = await insert();
  await person(id, { kind: 'fire_now' });
  expect(await row(id, 'lane, execute_at <= app_now() as due, due_at = execute_at as nominal')).toEqual({
    ...{ lane: 0, due: true, nominal: true },
  });
});

test('[T11] what is claimed is nobody’s again, and the try is given back', async () => {
  const id = await insert(claimed);
  await person(id, { kind: 'postpone', seconds: 60 });
  expect(await row(id)).toMatchObject({ status: 'pending', attempt: 0, lease_until: null, fence: '1' });
});

test('[T11] a wait that is postponed waits longer, and one that is fired is over', async () => {
  const longer = await insertWaiting();
  const over = await insertWaiting();
  await person(longer, { kind: 'postpone', seconds: 3_600 });
  await person(over, { kind: 'fire_now' });
  expect(
    await row(
      longer,
      "expires_at = execute_at as same, branch, expires_at > app_now() + interval '1 h 50 min' as longer",
    ),
  ).toEqual({
    ...{ same: true, branch: null, longer: true },
  });
  expect(await tell(click())).toEqual(['completed', 'late']);
});

test.for<ActionOperation>([
  { kind: 'edit', at: '2020-01-01T00:00Z' },
  { kind: 'edit', at: '2100-01-01T00:00Z' },
  { kind: 'edit', at: 'tomorrow' },
  { kind: 'edit', at: '2030-02-30T00:00' },
  { kind: 'edit' },
  { kind: 'edit', messages: [] },
  { kind: 'edit', messages: [{ type: 'text', text: '' }] },
  { kind: 'postpone' },
  { kind: 'postpone', seconds: 1, to: '2030-01-01T00:00' },
  { kind: 'postpone', seconds: 0 },
])('[T11] an operation that makes no sense changes nothing: $kind $at', async (operation) => {
  const id = await insert();
  await expect(person(id, operation)).rejects.toThrow(/is invalid at|is past|ten years/);
  expect(await row(id)).toMatchObject({ fence: '0' });
});

test('[T12] what is cancelled says who stopped it, and its ticket is stale', async () => {
  const id = await insert({ ...claimed, fence: 5 });
  expect(await person(id, { kind: 'cancel' })).toEqual({ id, result: 'changed', fence: '6' });
  expect(await row(id)).toMatchObject({ status: 'cancelled', cancel_reason: 'by_person', lease_until: null });
  expect(await decide({ ...tenant, id, fence: '5' })).toEqual([]);
});

const OPEN_OPERATIONS: ActionOperation[] = [
  { kind: 'edit', messages: [{ type: 'text', text: 'x' }] },
  { kind: 'postpone', seconds: 60 },
  { kind: 'fire_now' },
];
const ALL_OPEN: ActionOperation[] = [...OPEN_OPERATIONS, { kind: 'cancel' }];
const ANEW: ActionOperation[] = [{ kind: 'uncancel' }, { kind: 'revive' }];

test.for<[string, string, Record<string, unknown>, ActionOperation[]]>([
  ['moved on', 'changed', { fence: 7 }, ALL_OPEN],
  ['is being decided', 'being_decided', { ...claimed, fence: 7 }, ALL_OPEN],
  ['failed', 'failed', ended('failed'), ALL_OPEN],
  ['was cancelled', 'cancelled', ended('cancelled'), ALL_OPEN],
  ['is done', 'done', ended('done'), [...OPEN_OPERATIONS, ...ANEW]],
  ['is unlocked', 'already_unlocked', { branch: 'clicked', fence: 3 }, OPEN_OPERATIONS.slice(0, 2)],
  ['still waits', 'still_open', {}, ANEW],
  ['is still claimed', 'still_open', claimed, ANEW],
  ['was cancelled and not failed', 'cancelled', ended('cancelled'), ANEW.slice(1)],
  ['failed and was not cancelled', 'failed', ended('failed'), ANEW.slice(0, 1)],
])('[T11] [T12] [T13] of what %s a person is told so: %s', async ([, refusal, columns, operations]) => {
  const id = await insert(columns);
  const before = await row(id);
  for (const operation of operations) {
    const told = await person(id, operation, refusal === 'changed' || refusal === 'being_decided' ? '6' : undefined);
    expect([operation.kind, told]).toEqual([operation.kind, { id, result: 'refused', refusal, fence: before.fence }]);
  }
  expect(await row(id)).toEqual(before);
  expect(await editsOf(shared.db, id)).toEqual([]);
});

test('[T11] [T12] what is unlocked can still be fired or cancelled', async () => {
  const fired = await insert({ branch: 'clicked' });
  const cancelled = await insert({ branch: 'clicked' });
  expect(await person(fired, { kind: 'fire_now' })).toMatchObject({ result: 'changed' });
  expect(await person(cancelled, { kind: 'cancel' })).toMatchObject({ result: 'changed' });
  expect(await row(fired)).toMatchObject({ branch: 'clicked' });
});

const RACED: [string, ActionOperation][] = [
  ['[T11] an edit', { kind: 'edit', messages: [{ type: 'text', text: 'x' }] }],
  ['[T11] a postponement', { kind: 'postpone', seconds: 60 }],
  ['[T11] a fire', { kind: 'fire_now' }],
];

test.for(RACED)('%s that comes after the decision is told that it is done', async ([, operation]) => {
  const id = await insert({ ...claimed, fence: 1 });
  const [decided, told] = await inOrder(shared.db, id, [
    () => decide({ ...tenant, id, fence: '1' }),
    () => person(id, operation, '1'),
  ]);
  expect(decided).toEqual([id]);
  expect(told).toEqual({ id, result: 'refused', refusal: 'done', fence: '2' });
});

test.for([...RACED, ['[T12] a cancel', { kind: 'cancel' }] as [string, ActionOperation]])(
  '%s that comes before the decision leaves it nothing to decide',
  async ([, operation]) => {
    const id = await insert({ ...claimed, fence: 1 });
    const [told, decided] = await inOrder(shared.db, id, [
      () => person(id, operation, '1'),
      () => decide({ ...tenant, id, fence: '1' }),
    ]);
    expect(told).toEqual({ id, result: 'changed', fence: '2' });
    expect(decided).toEqual([]);
    expect(await row(id)).toMatchObject({ status: operation.kind === 'cancel' ? 'cancelled' : 'pending' });
  },
);

test('[T12] a cancel that comes after a decision that failed is told so', async () => {
  const id = await insert({ ...claimed, fence: 1 });
  const [, told] = await inOrder(shared.db, id, [
    () => decide({ ...tenant, id, fence: '1' }, 'failed'),
    () => person(id, { kind: 'cancel' }, '1'),
  ]);
  expect(told).toMatchObject({ refusal: 'failed' });
});

test.for([...RACED, ['[T12] a cancel', { kind: 'cancel' }] as [string, ActionOperation]])(
  '%s and a claim: who comes second finds that the row moved',
  async ([, operation]) => {
    const claimedFirst = await insert({ execute_at: ago(1) });
    const [ticket] = await claim(shared.db);
    expect(ticket).toMatchObject({ id: claimedFirst, fence: '1' });
    expect(await person(claimedFirst, operation, '0')).toMatchObject({ refusal: 'being_decided' });

    await shared.db.$client.query('delete from scheduled_action');
    const touchedFirst = await insert({ execute_at: ago(1) });
    const [told, skipped] = await meanwhile(shared.db, touchedFirst, [
      () => person(touchedFirst, operation, '0'),
      () => claim(shared.db),
    ]);
    expect([told.result, skipped]).toEqual(['changed', []]);
    const isDueStill = operation.kind === 'edit' || operation.kind === 'fire_now';
    expect((await claim(shared.db)).map(({ fence }) => fence)).toEqual(isDueStill ? ['2'] : []);
  },
);

test('[T10] [T11] [T12] a fact that comes first unlocks: an edit is told so, a cancel sees a change', async () => {
  const edited = await insertWaiting();
  const [met, told] = await inOrder(shared.db, edited, [
    () => tell(click()),
    () => person(edited, { kind: 'postpone', seconds: 60 }, '0'),
  ]);
  expect([met, told]).toMatchObject([['completed'], { refusal: 'already_unlocked' }]);
  await shared.db.$client.query('delete from scheduled_action');

  const cancelled = await insertWaiting();
  const [, toldToo] = await inOrder(shared.db, cancelled, [
    () => tell(click()),
    () => person(cancelled, { kind: 'cancel' }, '0'),
  ]);
  expect(toldToo).toMatchObject({ refusal: 'changed', fence: '1' });
});

test.for<[string, ActionOperation, string, Record<string, unknown>]>([
  ['[T11] an edited wait', { kind: 'postpone', seconds: 60 }, 'completed', { status: 'pending', branch: 'clicked' }],
  ['[T12] a cancelled wait', { kind: 'cancel' }, 'late', { status: 'cancelled', branch: null }],
])('%s meets a fact that comes second as it is then', async ([, operation, result, state]) => {
  const id = await insertWaiting();
  const [told, met] = await inOrder(shared.db, id, [() => person(id, operation, '0'), () => tell(click())]);
  expect(told).toMatchObject({ result: 'changed' });
  expect(met).toEqual([result]);
  expect(await row(id)).toMatchObject(state);
});

test('the audit trail says what was, what is, who and why, once for each change', async () => {
  const id = await insert({ execute_at: '2030-01-01T00:00:00Z', due_at: '2030-01-01T00:00:00Z' });
  await person(id, { kind: 'postpone', seconds: 90 });
  await person(id, { kind: 'cancel' });
  const [postponed, cancelled, ...others] = await editsOf(shared.db, id);
  expect(postponed).toEqual({
    ...{ operation: 'postpone', edited_by: 'mika', reason: 'because' },
    before: { fence: '0', executeAt: '2030-01-01T00:00:00+00:00', dueAt: '2030-01-01T00:00:00+00:00' },
    after: { fence: '1', executeAt: '2030-01-01T00:01:30+00:00', dueAt: '2030-01-01T00:01:30+00:00' },
  });
  expect(cancelled).toMatchObject({
    before: { fence: '1', status: 'pending', cancelReason: null },
    after: { fence: '2', status: 'cancelled', cancelReason: 'by_person' },
  });
  expect(others).toEqual([]);
});

test('what belongs to another account is not there', async () => {
  const id = await insert();
  for (const stranger of [other, { ...tenant, lineOaId: other.lineOaId }]) {
    const told = await act(shared.db, stranger, { id, operation: { kind: 'cancel' } });
    expect(told).toEqual({ id, result: 'refused', refusal: 'not_found', fence: null });
  }
  const nowhere = { ticket: { id: '999999999', fence: '0' }, operation: { kind: 'cancel' } as const, by: 'mika' };
  expect(await operate(shared.db, tenant, { ...nowhere, cancelDeliveries: noDeliveries })).toMatchObject({
    refusal: 'not_found',
  });
  expect(await row(id)).toMatchObject({ fence: '0' });
});
