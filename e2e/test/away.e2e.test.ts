import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { moveProductTime } from '@dueline/db/testing';
import { type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId } from '@dueline/line-simulator';
import { scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCityRule, serviceEnvironment } from './support.ts';

const USERS = 5_000;
const PREFIX = 'aa';
const userIds = Array.from({ length: USERS }, (_, n) => nthUserId(PREFIX, n));
const CHANNEL = {
  channelId: '3000000010',
  channelAccessToken: 'away-token',
  users: [{ prefix: PREFIX, count: USERS }],
};
/** An hour of leases, in seconds: what is claimed and announced runs out and comes back many times. */
const SETTINGS = {
  CLAIM_LEASE_SECONDS: '2',
  OUTBOX_LEASE_SECONDS: '2',
  REAP_INTERVAL_SECONDS: '0.5',
  INLINE_PROFILE: 'false',
  QUEUE_AHEAD: '10000', // of which one account may hold half
};
const PATIENCE_MS = 120_000;

let stack: Stack;
let tenant: Tenant;
beforeAll(async () => {
  stack = await startStack({
    env: serviceEnvironment(),
    channels: [CHANNEL],
    tell: () => undefined,
    appEnv: SETTINGS,
  });
  // What is decided matters here, not what LINE says of it.
  for (const name of ['line-delivery', 'campaign-dispatcher', 'trigger-worker'] as const)
    await stack.apps.get(name)?.stop();
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'away' });
  const account = { organizationId, ...CHANNEL, name: 'away', timezone: 'Asia/Bangkok' };
  tenant = await createLineOa(db, { ...account, secretsKey: stack.secretsKey });
  await createCityRule(db, tenant);
});
afterAll(() => stack?.stop());

const rowsOf = async (query: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
  (await stack.database.db.$client.query(query, values)).rows;

/** Waits until the query's only row says so. */
async function until(query: string, expected: Record<string, unknown>): Promise<void> {
  let [row] = await rowsOf(query);
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(100)) {
    [row] = await rowsOf(query);
    if (JSON.stringify(row) === JSON.stringify(expected)) return;
  }
  expect(row).toEqual(expected);
}

test('trigger-worker away for an hour with 5,000 claimed actions and 5,000 published events: afterwards all are decided, none failed or dead, nobody is blamed', async () => {
  const { db } = stack.database;
  await inTransaction(db, (tx) =>
    scheduleMany(
      tx,
      userIds.map((userId) => actionToSchedule(tenant, { userId })),
    ),
  );
  await rowsOf(
    `insert into line_user (organization_id, line_oa_id, user_id, attributes) select $1, $2, unnest($3::text[]), '{"city": "Oslo"}'`,
    [tenant.organizationId, tenant.lineOaId, userIds],
  );
  // Each was claimed or announced, and taken back, more than once.
  await until(
    `select (select count(*)::int from scheduled_action where fence >= 3) as claimed,
            (select count(*)::int from event_outbox where status = 'published' and lease_until > recorded_at + interval '4 seconds') as published`,
    { claimed: USERS, published: USERS },
  );
  await moveProductTime(db, 3_600);

  await stack.restart('trigger-worker');

  await until(
    `select (select count(*)::int from scheduled_action where status = 'done') as done, (select count(*)::int from event_archive) as decided`,
    { done: USERS, decided: USERS },
  );
  expect(
    await rowsOf(
      `select status, count(*)::int as rows, max(rescue_count) as rescues, max(retry_count) as retries from scheduled_action group by 1`,
    ),
  ).toEqual([{ status: 'done', rows: USERS, rescues: 0, retries: 0 }]);
  expect(await rowsOf('select from event_outbox')).toEqual([]);
  expect(await rowsOf('select count(*)::int as rows from delivery')).toEqual([{ rows: 2 * USERS }]);
  expect(await rowsOf('select from attention_item')).toEqual([]);
});
