import type { Tenant } from '@dueline/contracts';
import { insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
let base: Record<string, string>;
let refs: { link: string; issue: string; form: string; booking: string };

beforeAll(async () => {
  shared = await testDb();
  tenant = await insertTenant(shared.db);
  base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId };
  const insert = async (table: string, values: object) =>
    String((await insertRow(shared.db, table, { ...base, ...values })).id);
  const user = { user_id: lineUserId(1) };
  const link = await insert('tracked_link', { name: 'link', url: 'https://example.com' });
  refs = {
    link,
    issue: await insert('link_issue', { ...user, tracked_link_id: link, code: 'abc' }),
    form: await insert('form', { name: 'form' }),
    booking: await insert('booking', { ...user, name: 'booking', starts_at: new Date() }),
  };
});
afterAll(() => shared[Symbol.asyncDispose]());
beforeEach(() => shared.db.$client.query('delete from event_outbox'));

interface FactTable {
  readonly table: string;
  readonly topic: string;
  readonly key: string;
  readonly values: () => Record<string, unknown>;
  readonly payload: () => Record<string, unknown>;
}

const FACTS: readonly FactTable[] = [
  {
    table: 'link_click',
    topic: 'campaign_click',
    key: 'idempotency_key',
    values: () => ({ tracked_link_id: refs.link, link_issue_id: refs.issue, user_agent: 'ブラウザ 🎉' }),
    payload: () => ({ tracked_link_id: refs.link, link_issue_id: refs.issue, is_robot: 'false' }),
  },
  {
    table: 'form_submission',
    topic: 'form_submitted',
    key: 'idempotency_key',
    values: () => ({ form_id: refs.form, answers: { 名前: 'สมชาย' } }),
    payload: () => ({ form_id: refs.form }),
  },
  {
    table: 'booking_event',
    topic: 'booking_event',
    key: 'idempotency_key',
    values: () => ({ booking_id: refs.booking, type: 'rescheduled' }),
    payload: () => ({ booking_id: refs.booking, type: 'rescheduled' }),
  },
  {
    table: 'friend_track_event',
    topic: 'friend_track_event_inserted',
    key: 'webhook_event_id',
    values: () => ({ type: 'follow', is_unblocked: true }),
    payload: () => ({ type: 'follow', is_unblocked: 'true' }),
  },
  {
    table: 'custom_event',
    topic: 'custom_event',
    key: 'idempotency_key',
    values: () => ({ name: 'purchase', payload: { 金額: 1_200 } }),
    payload: () => ({ name: 'purchase' }),
  },
];

const factOf = ({ key, values }: FactTable, idempotency: string = crypto.randomUUID(), user = 1) => ({
  ...{ ...base, ...values(), user_id: lineUserId(user), occurred_at: '2026-02-28T23:59:59.123456Z' },
  [key]: idempotency,
});

const events = async () =>
  (
    await shared.db.$client.query(
      `select topic, line_oa_id, user_id, payload, bulk, occurred_at = '2026-02-28T23:59:59.123456Z' as "keepsTime", root_id = event_id as "isRoot"
         from event_outbox order by id`,
    )
  ).rows;

test.for(FACTS)('a row of $table is one event of $topic, which says what and when', async (fact) => {
  const { id } = await insertRow(shared.db, fact.table, factOf(fact));
  const event = { topic: fact.topic, line_oa_id: tenant.lineOaId, user_id: lineUserId(1), bulk: false };
  expect(await events()).toEqual([
    { ...event, payload: { id: String(id), ...fact.payload() }, keepsTime: true, isRoot: true },
  ]);
});

test.for(FACTS)('a repeated report on $table is no second fact and no second event', async (fact) => {
  const row = factOf(fact);
  await insertRow(shared.db, fact.table, row);
  await expect(insertRow(shared.db, fact.table, row)).rejects.toMatchObject({ code: '23505' });
  const names = Object.keys(row);
  const marks = names.map((_, at) => `$${at + 1}`);
  const again = await shared.db.$client.query(
    `insert into ${fact.table} (${names}) values (${marks}) on conflict do nothing`,
    Object.values(row),
  );
  expect(again.rowCount).toBe(0);
  expect(await events()).toHaveLength(1);
});

test.for(FACTS)('a fact of $table never changes', async (fact) => {
  const { id } = await insertRow(shared.db, fact.table, factOf(fact));
  const change = shared.db.$client.query(`update ${fact.table} set occurred_at = now() where id = $1`, [id]);
  await expect(change).rejects.toMatchObject({ code: 'DL004' });
});

test.for(FACTS)('a statement that inserts 1,001 facts of $table makes bulk events, in order', async (fact) => {
  const row = factOf(fact);
  const names = Object.keys(row).filter((name) => name !== fact.key && name !== 'user_id');
  await shared.db.$client.query(
    `insert into ${fact.table} (${fact.key}, user_id, ${names})
     select gen_random_uuid(), 'U' || lpad(to_hex(n), 32, '0'), ${names.map((_, at) => `$${at + 1}`)} from generate_series(1, 1001) as n`,
    names.map((name) => (row as Record<string, unknown>)[name]),
  );
  const found = await events();
  expect(found).toHaveLength(1_001);
  expect(found.every(({ bulk }) => bulk)).toBe(true);
  expect(found.map(({ user_id }) => user_id)).toEqual(found.map((_, at) => lineUserId(at + 1)));
});
