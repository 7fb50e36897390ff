import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { type AppName, type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId } from '@dueline/line-simulator';
import { createAudience } from '@dueline/recipients';
import { runCycleNow } from '@dueline/scheduled-cycles';
import { createRule } from '@dueline/trigger-rules';
import { serviceEnvironment } from './support.ts';

type Row = Record<string, unknown>;

/** A Dueline with one daily rule, which adds each of its account's people to an audience. */
export interface CycleStage {
  readonly stack: Stack;
  readonly tenant: Tenant;
  rowsOf(query: string): Promise<Row[]>;
  /** Runs the cycle now, once it is planned; returns its id. */
  runNow(): Promise<string>;
  /** Kills an app and starts it again. */
  kill(name: AppName): Promise<void>;
  /** What came of it: how the cycle stands, how many are in the audience, and what was decided about how many people. */
  outcome(): Promise<{ readonly cycle: Row[]; readonly met: Row[]; readonly decided: Row[] }>;
}

/** How it must end for so many people. */
export const everybodyMet = (users: number) => ({
  cycle: [{ status: 'completed', total: users, enqueued: users, processed: users, failed: 0 }],
  met: [{ count: users }],
  decided: [
    { decision: 'fired', count: users, people: users },
    { decision: 'scheduled', count: users, people: users },
  ],
});

const PREFIX = 'cc';
const CHANNEL_ID = '3000000013';
const PER_INSERT = 5_000;

export async function startCycleStage({
  users,
  settings,
}: {
  users: number;
  settings: Readonly<Record<string, string>>;
}): Promise<CycleStage> {
  const channel = {
    ...{ channelId: CHANNEL_ID, channelAccessToken: 'cycles-token', users: [{ prefix: PREFIX, count: users }] },
  };
  const stack = await startStack({
    ...{ env: serviceEnvironment(), channels: [channel], tell: () => undefined, appEnv: settings },
  });
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'cycles' });
  const account = { organizationId, ...channel, name: 'cycles', timezone: 'Asia/Tokyo' };
  const tenant = await createLineOa(db, { ...account, secretsKey: stack.secretsKey });
  await insertPeople(stack, tenant, users);
  const audienceId = await createAudience(db, tenant, { name: 'met' });
  const triggerRuleId = await createRule(db, tenant, {
    ...{ name: '毎朝', sourceType: 'scheduled_time', sourceConfig: { cron: '0 9 * * *' } },
    ...{ actionType: 'add_to_audience', actionConfig: { audienceId }, frequency: 'every_time' },
  } as Parameters<typeof createRule>[2]);
  const rowsOf: CycleStage['rowsOf'] = async (query) => (await db.$client.query<Row>(query)).rows;
  return {
    ...{ stack, tenant, rowsOf },
    runNow: async () => {
      while ((await rowsOf('select from cycle_schedule where next_run_at is not null')).length === 0) await sleep(20);
      return (await inTransaction(db, (tx) => runCycleNow(tx, tenant, { triggerRuleId })))?.id ?? '';
    },
    kill: async (name) => {
      const app = stack.apps.get(name);
      app?.child.kill('SIGKILL');
      await app?.gone;
      await stack.restart(name);
    },
    outcome: async () => ({
      cycle: await rowsOf(`
        select status, total_users::int as total, enqueued_users::int as enqueued, processed_users::int as processed, failed_users::int as failed
          from scheduled_trigger_execution`),
      met: await rowsOf(`select count(*)::int as count from audience_member where audience_id = ${audienceId}`),
      decided: await rowsOf(`
        select decision, count(*)::int, count(distinct user_id)::int as people from trigger_log group by decision order by decision`),
    }),
  };
}

async function insertPeople({ database }: Stack, { organizationId, lineOaId }: Tenant, users: number): Promise<void> {
  for (let first = 0; first < users; first += PER_INSERT) {
    const count = Math.min(PER_INSERT, users - first);
    await database.db.$client.query(
      'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
      [organizationId, lineOaId, Array.from({ length: count }, (_, n) => nthUserId(PREFIX, first + n))],
    );
  }
}
