import type { Tenant, TenantTicket } from '@dueline/contracts';
import { insertRow, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import type { ActionOperation } from '@dueline/scheduled-actions';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { act, decideAs, ended, HELLO, insertAction, insertDeliveryOf, rowOf } from './operating.ts';
import { claim } from './support.ts';

let shared: TestDb;
let tenant: Tenant;
beforeAll(async () => {
  shared = await testDb();
  tenant = await insertTenant(shared.db, { timezone: 'Asia/Tokyo' });
});
afterAll(() => shared[Symbol.asyncDispose]());
beforeEach(() => shared.db.$client.query('delete from scheduled_action; delete from delivery'));

const insert = (columns: Record<string, unknown> = {}) => insertAction(shared.db, tenant, columns);
const row = (id: string, columns?: string) => rowOf(shared.db, id, columns);
const person = (id: string, operation: ActionOperation) => act(shared.db, tenant, { id, operation });
const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);
const ahead = (seconds: number) => ago(-seconds);
const NEXT_YEAR = new Date().getUTCFullYear() + 1;

test('[T13] what was cancelled waits again as it did, under a new gen', async () => {
  const id = await insert({ ...ended('cancelled'), gen: 2, branch: 'clicked' });
  const { execute_at } = await row(id);
  expect(await person(id, { kind: 'uncancel' })).toEqual({ id, result: 'changed', fence: '1' });
  expect(await row(id)).toMatchObject({
    status: 'pending',
    gen: 3,
    branch: null,
    cancel_reason: null,
    executed_at: null,
    execute_at,
  });
});

test('[T13] a persistent failure that is revived starts from nothing, at once, with another content if need be', async () => {
  const id = await insert({ ...ended('failed'), execute_at: ago(60), due_at: ago(600) });
  await person(id, { kind: 'revive', messages: [{ type: 'text', text: 'repaired' }] });
  expect(await row(id)).toMatchObject({
    ...{ status: 'pending', gen: 1, attempt: 0, retry_count: 0, rescue_count: 0, last_error: null, executed_at: null },
    action_config: { messages: [{ type: 'text', text: 'repaired' }] },
  });
  expect(await row(id, 'due_at = execute_at as nominal')).toEqual({ nominal: true });
  const [ticket] = await claim(shared.db);
  expect(await decideAs(shared.db, ticket as TenantTicket)).toEqual([id]);
});

test('[T13] what runs anew may be due at a time', async () => {
  for (const [kind, status] of [
    ['uncancel', 'cancelled'],
    ['revive', 'failed'],
  ] as const) {
    const id = await insert({ ...ended(status), anchor_ref: 'attribute:birthday' });
    await person(id, { kind, at: `${NEXT_YEAR}-06-01T10:00:00Z` });
    expect(await row(id)).toMatchObject({ execute_at: new Date(`${NEXT_YEAR}-06-01T10:00Z`), anchor_ref: null });
  }
});

test('[T13] of a deleted rule nothing runs anew', async () => {
  const rule = await insertRow(shared.db, 'trigger_rule', {
    ...{
      organization_id: tenant.organizationId,
      line_oa_id: tenant.lineOaId,
      name: 'rule',
      source_type: 'attribute_changed',
    },
    ...{ source_config: {}, action_type: 'send_message', action_config: HELLO },
  });
  const id = await insert({ ...ended('cancelled'), trigger_rule_id: rule.id });
  await shared.db.$client.query('update trigger_rule set deleted_date = app_now()');
  expect(await person(id, { kind: 'uncancel' })).toMatchObject({ refusal: 'rule_deleted' });
});

test.for<[string, string | null]>([
  ['accepted', 'already_sent'],
  ['planned', 'maybe_sent'],
  ['sending', 'maybe_sent'],
  ['unknown', 'maybe_sent'],
  ['refused', null],
  ['expired', null],
  ['cancelled', null],
])(
  '[T13] when an earlier message is %s, running anew is refused as %s unless a duplicate is accepted',
  async ([status, refusal]) => {
    const id = await insert(ended('failed'));
    await insertDeliveryOf(shared.db, tenant, {
      ...{ actionId: id, scheduled_action_id: null, deliver_until: ahead(60), status },
      ...(status === 'accepted' ? { accepted_at: new Date() } : {}),
      ...(status === 'sending' ? { lease_until: ahead(60) } : {}),
    });
    if (refusal !== null) {
      expect(await person(id, { kind: 'revive' })).toMatchObject({ refusal });
      expect(await person(id, { kind: 'revive', acceptDuplicates: true })).toMatchObject({ result: 'changed' });
    } else {
      expect(await person(id, { kind: 'revive' })).toMatchObject({ result: 'changed' });
    }
  },
);

test('[T13] while the same work waits under another action, running anew is refused, also when both come at the same moment', async () => {
  const id = await insert({ ...ended('cancelled'), open_key: 'k' });
  const rival = await insert({ open_key: 'k' });
  expect(await person(id, { kind: 'uncancel' })).toMatchObject({ refusal: 'already_pending' });
  await shared.db.$client.query('delete from scheduled_action where id = $1', [rival]);

  const twin = await insert({ ...ended('cancelled'), open_key: 'k' });
  const results = await Promise.all([person(id, { kind: 'uncancel' }), person(twin, { kind: 'uncancel' })]);
  expect(results.map((told) => ('refusal' in told ? told.refusal : told.result)).sort()).toEqual([
    'already_pending',
    'changed',
  ]);
});
