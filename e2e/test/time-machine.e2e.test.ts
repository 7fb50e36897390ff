import { createLineOa, createOrganization } from '@dueline/accounts';
import { type Stack, startStack } from '@dueline/demo';
import { nthUserId } from '@dueline/line-simulator';
import { createRule } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serviceEnvironment } from './support.ts';

const CHANNEL = { channelId: '3000000004', channelAccessToken: 'time-token', users: [{ prefix: 'e4', count: 10 }] };
const DAY = 86_400;

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ env: serviceEnvironment(), channels: [CHANNEL], tell: () => undefined });
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'time' });
  const account = { organizationId, ...CHANNEL, name: 'time', timezone: 'Asia/Bangkok', secretsKey: stack.secretsKey };
  const tenant = await createLineOa(db, account);
  await createRule(db, tenant, {
    name: 'three days later',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'city' },
    actionType: 'send_message',
    actionConfig: { messages: [{ type: 'text', text: '三日後 [[lid:three-days]]' }], delay: { seconds: 3 * DAY } },
  });
  await db.$client.query(
    `insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])`,
    [tenant.organizationId, tenant.lineOaId, Array.from({ length: 10 }, (_, n) => nthUserId('e4', n))],
  );
});
afterAll(() => stack?.stop());

const received = async () => (await stack.line.receiptsSince(0)).map(({ user }) => user).sort();

test('what waits three days arrives within a second of the jump there, once, and not before', async () => {
  const { $client } = stack.database.db;
  await $client.query(`update line_user set attributes = '{"city": "Oslo"}'`);
  const waiting = "select from scheduled_action where status = 'pending'";
  await expect.poll(async () => (await $client.query(waiting)).rowCount, { timeout: 45_000 }).toBe(10);

  await stack.travel(3 * DAY - 60);
  expect(await received()).toEqual([]);
  await stack.travel(60);
  const everybody = Array.from({ length: 10 }, (_, n) => nthUserId('e4', n)).sort();
  await expect.poll(received, { timeout: 45_000 }).toEqual(everybody);

  await stack.travel(30 * DAY);
  expect(await received()).toEqual(everybody);
  expect(await stack.line.violations()).toEqual([]);
});

test('production is never ready on a database whose time can be moved', async () => {
  await stack.apps.get('pg-listener')?.stop();
  const env = { DUELINE_ENV: 'production', OUTBOX_LEASE_SECONDS: '300', INSTANCE_NAME: 'production' };
  const starting = stack.restart('pg-listener', env).catch((error: unknown) => error);
  const answer = () => fetch(`${stack.apps.get('pg-listener')?.url()}/readyz`).then((response) => response.text());
  await expect.poll(() => answer().catch(String), { timeout: 45_000 }).toContain('it is no production database');
  await stack.apps.get('pg-listener')?.stop();
  expect(await starting).toBeInstanceOf(Error);
});
