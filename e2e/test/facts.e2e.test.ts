import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { insertRow } from '@dueline/db/testing';
import { type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId } from '@dueline/line-simulator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serviceEnvironment } from './support.ts';

const CHANNEL = { channelId: '3000000002', channelAccessToken: 'facts-token', users: [{ prefix: 'fa', count: 10 }] };
/** Generous for a loaded machine; the product needs tens of milliseconds, and a lost notification costs a second. */
const SOON_MS = 3_000;

let stack: Stack;
let tenant: Tenant;
let link: string;

beforeAll(async () => {
  stack = await startStack({ env: serviceEnvironment(), channels: [CHANNEL], tell: () => undefined });
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'facts' });
  const account = { organizationId, ...CHANNEL, name: 'facts', timezone: 'Asia/Tokyo', secretsKey: stack.secretsKey };
  tenant = await createLineOa(db, account);
  for (const n of [0, 1, 2]) await insertRow(db, 'line_user', of(n));
  const { id } = await insertRow(db, 'tracked_link', { ...ofAccount(), name: 'shop', url: 'https://example.com' });
  link = String(id);
});
afterAll(() => stack?.stop());

const ofAccount = () => ({ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId });
const of = (n: number) => ({ ...ofAccount(), user_id: nthUserId('fa', n) });
const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();

/** A message that waits for three days, unless its person clicks. */
async function waitForClick(n: number): Promise<void> {
  const { db } = stack.database;
  const messages = [{ type: 'text', text: `ขอบคุณ 🎁 [[lid:reward-${n}]]` }];
  const { id } = await insertRow(db, 'scheduled_action', {
    ...{ ...of(n), action_type: 'send_message', action_config: { messages }, dedup_key: `wait-${n}` },
    ...{ execute_at: inHours(72), due_at: inHours(72), anchor_at: inHours(-1), expires_at: inHours(72) },
  });
  const wait = { scheduled_action_id: id, n: 0, source: 'link', ref_id: link, branch: 'clicked' };
  await insertRow(db, 'action_wait', { ...of(n), ...wait });
}

const click = (n: number, values: object = {}) =>
  insertRow(stack.database.db, 'link_click', {
    ...{ ...of(n), tracked_link_id: link, idempotency_key: crypto.randomUUID(), ...values },
  });
const receipts = async () => (await stack.line.receiptsSince(0)).map(({ lid }) => lid);

async function receivedWithin(ms: number, lid: string): Promise<boolean> {
  for (const deadline = performance.now() + ms; performance.now() < deadline; await sleep(20))
    if ((await receipts()).includes(lid)) return true;
  return false;
}

test('a click that any service inserts in plain SQL brings what waited for it to LINE at once, and only that, once', async () => {
  for (const n of [0, 1, 2]) await waitForClick(n);
  await click(1, { is_robot: true });
  await click(0);
  expect(await receivedWithin(SOON_MS, 'reward-0')).toBe(true);
  await click(0);

  const { db } = stack.database;
  const late = async () =>
    (await db.$client.query(`select count(*)::int as n from trigger_log where reason_code = 'fact_late'`)).rows[0].n;
  await expect.poll(late, { timeout: 45_000 }).toBe(1);
  await expect
    .poll(async () => (await db.$client.query('select count(*)::int as n from event_outbox')).rows[0].n)
    .toBe(0);
  expect(await receipts()).toEqual(['reward-0']);
  const { rows } = await db.$client.query('select branch, status from scheduled_action order by id');
  const waits = { branch: null, status: 'pending' };
  expect(rows).toEqual([{ branch: 'clicked', status: 'done' }, waits, waits]);
});
