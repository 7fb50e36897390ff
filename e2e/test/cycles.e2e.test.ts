import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { type AppName, type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId } from '@dueline/line-simulator';
import { createAudience } from '@dueline/recipients';
import { runCycleNow } from '@dueline/scheduled-cycles';
import { createRule } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serviceEnvironment } from './support.ts';

const USERS = 6_000;
const PREFIX = 'cc';
const CHANNEL = {
  channelId: '3000000013',
  channelAccessToken: 'cycles-token',
  users: [{ prefix: PREFIX, count: USERS }],
};
const SETTINGS = {
  CLAIM_LEASE_SECONDS: '2',
  REAP_INTERVAL_SECONDS: '0.5',
  DELIVERY_ANNOUNCE_AGAIN_SECONDS: '1',
};
const PATIENCE_MS = 120_000;
/** The reader of the cycle dies at each of these shares of its people; then whoever opens, announces and counts. */
const DEATHS: readonly (readonly [AppName, number])[] = [
  ['trigger-worker', 0.1],
  ['cron-scheduler', 0.2],
  ['trigger-worker', 0.3],
  ['trigger-worker', 0.5],
  ['cron-scheduler', 0.6],
  ['trigger-worker', 0.8],
];

let stack: Stack;
let tenant: Tenant;
let audienceId: string;
let triggerRuleId: string;
beforeAll(async () => {
  stack = await startStack({ env: serviceEnvironment(), channels: [CHANNEL], tell: () => undefined, appEnv: SETTINGS });
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'cycles' });
  const account = { organizationId, ...CHANNEL, name: 'cycles', timezone: 'Asia/Tokyo' };
  tenant = await createLineOa(db, { ...account, secretsKey: stack.secretsKey });
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, Array.from({ length: USERS }, (_, n) => nthUserId(PREFIX, n))],
  );
  audienceId = await createAudience(db, tenant, { name: 'met' });
  triggerRuleId = await createRule(db, tenant, {
    ...{ name: '毎朝', sourceType: 'scheduled_time', sourceConfig: { cron: '0 9 * * *' } },
    ...{ actionType: 'add_to_audience', actionConfig: { audienceId }, frequency: 'every_time' },
  } as Parameters<typeof createRule>[2]);
});
afterAll(() => stack?.stop());

const rowsOf = async (query: string): Promise<Record<string, unknown>[]> =>
  (await stack.database.db.$client.query(query)).rows;

async function until(query: string, isSo: (row: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
  for (const deadline = performance.now() + PATIENCE_MS; ; await sleep(20)) {
    const [row = {}] = await rowsOf(query);
    if (isSo(row) || performance.now() > deadline) return row;
  }
}

const CYCLE = `select status, total_users::int as total, processed_users::int as processed, failed_users::int as failed from scheduled_trigger_execution order by id desc limit 1`;

async function kill(name: AppName): Promise<void> {
  const app = stack.apps.get(name);
  app?.child.kill('SIGKILL');
  await app?.gone;
  await stack.restart(name);
}

test('a cycle whose readers and schedulers are killed meets everybody once, and its counts add up', async () => {
  const { db } = stack.database;
  await until(`select next_run_at is not null as planned from cycle_schedule`, ({ planned }) => planned === true);
  await inTransaction(db, (tx) => runCycleNow(tx, tenant, { triggerRuleId }));
  for (const [name, share] of DEATHS) {
    await until(CYCLE, ({ total }) => Number(total) >= share * USERS);
    await kill(name);
  }
  expect(await until(CYCLE, ({ status }) => status === 'completed')).toEqual({
    ...{ status: 'completed', total: USERS, processed: USERS, failed: 0 },
  });
  expect(await rowsOf(`select count(*)::int as count from audience_member where audience_id = ${audienceId}`)).toEqual([
    { count: USERS },
  ]);
  expect(
    await rowsOf(`
      select decision, count(*)::int, count(distinct user_id)::int as people from trigger_log group by decision order by decision`),
  ).toEqual([
    { decision: 'fired', count: USERS, people: USERS },
    { decision: 'scheduled', count: USERS, people: USERS },
  ]);
}, 180_000);
