import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { type AppName, type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId } from '@dueline/line-simulator';
import { createAudience } from '@dueline/recipients';
import { type CycleProgress, cycleProgress, runCycleNow } from '@dueline/scheduled-cycles';
import { createRule } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serviceEnvironment } from './support.ts';

const USERS = 100_000;
const KILLS = 20;
const PREFIX = 'ce';
const CHANNEL = {
  channelId: '3000000014',
  channelAccessToken: 'cycle-100k-token',
  users: [{ prefix: PREFIX, count: USERS }],
};
const SETTINGS = {
  CLAIM_LEASE_SECONDS: '5',
  REAP_INTERVAL_SECONDS: '0.5',
  DELIVERY_ANNOUNCE_AGAIN_SECONDS: '2',
};
const PATIENCE_MS = 3_600_000;

let stack: Stack;
let tenant: Tenant;
let audienceId: string;
let triggerRuleId: string;
beforeAll(async () => {
  stack = await startStack({ env: serviceEnvironment(), channels: [CHANNEL], tell: () => undefined, appEnv: SETTINGS });
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'a hundred thousand' });
  const account = { organizationId, ...CHANNEL, name: 'a hundred thousand', timezone: 'Asia/Tokyo' };
  tenant = await createLineOa(db, { ...account, secretsKey: stack.secretsKey });
  for (let first = 0; first < USERS; first += 5_000) {
    const userIds = Array.from({ length: 5_000 }, (_, n) => nthUserId(PREFIX, first + n));
    await db.$client.query(
      'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
      [tenant.organizationId, tenant.lineOaId, userIds],
    );
  }
  audienceId = await createAudience(db, tenant, { name: 'met' });
  triggerRuleId = await createRule(db, tenant, {
    ...{ name: '毎朝', sourceType: 'scheduled_time', sourceConfig: { cron: '0 9 * * *' } },
    ...{ actionType: 'add_to_audience', actionConfig: { audienceId }, frequency: 'every_time' },
  } as Parameters<typeof createRule>[2]);
}, 600_000);
afterAll(() => stack?.stop());

const rowsOf = async (query: string): Promise<Record<string, unknown>[]> =>
  (await stack.database.db.$client.query(query)).rows;

async function kill(name: AppName): Promise<void> {
  const app = stack.apps.get(name);
  app?.child.kill('SIGKILL');
  await app?.gone;
  await stack.restart(name);
}

/** Not one moment of these may say something else than the sums that they are, or fewer people than before. */
function judge(before: CycleProgress, now: CycleProgress): void {
  expect(now.open + now.processed + now.failed).toBe(now.total);
  expect(Math.min(now.open, now.processed, now.failed)).toBeGreaterThanOrEqual(0);
  expect(now.total).toBeGreaterThanOrEqual(before.total);
  expect(now.processed).toBeGreaterThanOrEqual(before.processed);
  expect(now.total).toBeLessThanOrEqual(USERS);
}

const NOTHING: CycleProgress = { total: 0, open: 0, processed: 0, failed: 0, suppressed: 0, isReading: true };

/** Kills while people are read, then while their actions are decided, and looks at the progress all the while. */
async function killAndLook(executionId: string): Promise<{ kills: number; looks: number }> {
  const { db } = stack.database;
  let before = NOTHING;
  let kills = 0;
  let looks = 0;
  for (; ; looks += 1) {
    if ((await rowsOf(`select from scheduled_trigger_execution where status <> 'processing'`)).length > 0) break;
    const now = (await cycleProgress(db, tenant, { executionId })) ?? NOTHING;
    judge(before, now);
    before = now;
    if (kills < KILLS && (now.total + now.processed) / (2 * USERS) >= (kills + 0.5) / KILLS) {
      await kill(kills % 4 === 1 ? 'cron-scheduler' : 'trigger-worker');
      kills += 1;
    }
    await sleep(200);
  }
  return { kills, looks };
}

test('a cycle of a hundred thousand whose processes are killed twenty times meets everybody once, and its counts add up', {
  timeout: PATIENCE_MS,
}, async () => {
  const { db } = stack.database;
  while ((await rowsOf('select from cycle_schedule where next_run_at is not null')).length === 0) await sleep(50);
  const begun = performance.now();
  const executionId = (await inTransaction(db, (tx) => runCycleNow(tx, tenant, { triggerRuleId }))) ?? '';
  const { kills, looks } = await killAndLook(executionId);
  process.stdout.write(`${kills} kills, ${looks} looks, ${Math.round((performance.now() - begun) / 1_000)} s\n`);
  expect(kills).toBe(KILLS);
  expect(
    await rowsOf(`
        select status, total_users::int as total, enqueued_users::int as enqueued, processed_users::int as processed, failed_users::int as failed
          from scheduled_trigger_execution`),
  ).toEqual([{ status: 'completed', total: USERS, enqueued: USERS, processed: USERS, failed: 0 }]);
  const members = `select count(*)::int as count from audience_member where audience_id = ${audienceId}`;
  expect(await rowsOf(members)).toEqual([{ count: USERS }]);
  expect(
    await rowsOf(`
        select decision, count(*)::int, count(distinct user_id)::int as people from trigger_log group by decision order by decision`),
  ).toEqual([
    { decision: 'fired', count: USERS, people: USERS },
    { decision: 'scheduled', count: USERS, people: USERS },
  ]);
});
