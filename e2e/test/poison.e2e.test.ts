import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { type App, type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId } from '@dueline/line-simulator';
import { scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCityRule, serviceEnvironment } from './support.ts';

const USERS = 1_000;
const PREFIX = 'ba';
const userIds = Array.from({ length: USERS }, (_, n) => nthUserId(PREFIX, n));
const KILLER = nthUserId(PREFIX, 555);
const CHANNEL = {
  channelId: '3000000009',
  channelAccessToken: 'poison-token',
  users: [{ prefix: PREFIX, count: USERS }],
};
const SETTINGS = {
  CLAIM_LEASE_SECONDS: '10',
  OUTBOX_LEASE_SECONDS: '10',
  REAP_INTERVAL_SECONDS: '0.5',
  CRASH_ON_USER: KILLER,
  INLINE_PROFILE: 'false',
};
const PATIENCE_MS = 150_000;

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
  for (const name of ['line-delivery', 'campaign-dispatcher'] as const) await stack.apps.get(name)?.stop();
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'poison' });
  const account = { organizationId, ...CHANNEL, name: 'poison', timezone: 'Asia/Bangkok' };
  tenant = await createLineOa(db, { ...account, secretsKey: stack.secretsKey });
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, userIds],
  );
  await createCityRule(db, tenant);
});
afterAll(() => stack?.stop());

interface Keeper extends AsyncDisposable {
  /** Deaths by SIGKILL so far. */
  readonly deaths: () => number;
}

/** Restarts the trigger-worker whenever it dies, as an orchestrator would. */
async function keepAlive(env: Readonly<Record<string, string>>): Promise<Keeper> {
  const state = { deaths: 0, stopping: false };
  await stack.apps.get('trigger-worker')?.stop();
  const live = async () => {
    while (!state.stopping) {
      const app = await startQuickly(env, state);
      if (state.stopping) await app.stop();
      await app.gone;
      if (app.child.signalCode === 'SIGKILL') state.deaths += 1;
    }
  };
  const living = live();
  return {
    deaths: () => state.deaths,
    [Symbol.asyncDispose]: async () => {
      state.stopping = true;
      await stack.apps.get('trigger-worker')?.stop();
      await living;
    },
  };
}

/** A worker may be killed before it is ready, and be stopped by us at any moment. */
async function startQuickly(
  env: Readonly<Record<string, string>>,
  state: { readonly stopping: boolean },
): Promise<App> {
  try {
    return await stack.restart('trigger-worker', env);
  } catch (error) {
    const app = stack.apps.get('trigger-worker');
    const isExplained = app !== undefined && (app.child.signalCode !== null || state.stopping);
    if (!isExplained) throw error;
    return app;
  }
}

async function rowsOf<Row extends Record<string, unknown>>(query: string): Promise<Row[]> {
  return (await stack.database.db.$client.query<Row>(query)).rows;
}

/** Waits until the query, which counts what is not decided, says 0. */
async function untilDecided(query: string): Promise<void> {
  for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await sleep(50)) {
    if ((await rowsOf<{ open: number }>(query))[0]?.open === 0) return;
  }
  throw new Error(`not decided in time:\n${stack.apps.get('trigger-worker')?.tail()}`);
}

const dueNow = () =>
  inTransaction(stack.database.db, (tx) =>
    scheduleMany(
      tx,
      userIds.map((userId) => actionToSchedule(tenant, { userId })),
    ),
  );

/** Ends the queue profile or begins it; trigger-worker has the other one. */
async function claimInline(inline: boolean): Promise<Readonly<Record<string, string>>> {
  await stack.apps.get('cron-scheduler')?.stop();
  await stack.restart('cron-scheduler', { QUEUE_PROFILE: String(!inline) });
  return { INLINE_PROFILE: String(inline) };
}

test.for(['queue', 'inline'] as const)(
  'one action that kills the process among 999 good ones, %s: 999 done, 1 failed after at most six crashes, nobody else is blamed',
  async (profile) => {
    const before = (await rowsOf<{ id: string }>('select coalesce(max(id), 0) as id from scheduled_action'))[0]?.id;
    await using keeper = await keepAlive(await claimInline(profile === 'inline'));
    await dueNow();
    await untilDecided(
      `select count(*)::int as open from scheduled_action where id > ${before} and status in ('pending', 'processing')`,
    );

    const outcome = await rowsOf(`
      select status, (user_id = '${KILLER}') as killer, count(*)::int as rows, max(retry_count) as retries, max(rescue_count) as rescues
        from scheduled_action where id > ${before} group by 1, 2 order by 1`);
    expect(outcome).toEqual([
      { status: 'done', killer: false, rows: USERS - 1, retries: 0, rescues: 0 },
      { status: 'failed', killer: true, rows: 1, retries: 0, rescues: 5 },
    ]);
    expect(keeper.deaths()).toBeGreaterThan(1);
    expect(keeper.deaths()).toBeLessThanOrEqual(6);
    expect(
      await rowsOf(`select kind, status, reason_code from attention_item where ref_id::bigint > ${before}`),
    ).toEqual([{ kind: 'action_failed', status: 'open', reason_code: 'kills_its_process' }]);
  },
);

test.for([
  ['queue', 'Oslo'],
  ['inline', 'Edo'],
] as const)(
  'one event that kills the process among 999 good ones, %s: 999 decided, 1 dead after at most six crashes, nobody else is blamed',
  async ([profile, city]) => {
    const before = (await rowsOf<{ id: string }>('select coalesce(max(id), 0) as id from event_outbox'))[0]?.id;
    const sent = `select count(*)::int as rows from delivery where kind = 'event'`;
    const sentBefore = (await rowsOf<{ rows: number }>(sent))[0]?.rows ?? 0;
    const inline = profile === 'inline';
    // so long a head start that all of it is taken by whoever dies, and announced only for what must be decided alone
    await stack.apps.get('pg-listener')?.stop();
    await stack.restart('pg-listener', { INLINE_HEAD_START_MS: inline ? '10000' : '0' });
    await using keeper = await keepAlive({ INLINE_PROFILE: String(inline) });
    await rowsOf(`update line_user set attributes = '{"city": "${city}"}'`);
    await untilDecided(`select count(*)::int as open from event_outbox where status <> 'dead'`);

    expect(
      await rowsOf(`select user_id, status, rescue_count, attempts from event_outbox where id > ${before}`),
    ).toEqual([{ user_id: KILLER, status: 'dead', rescue_count: 5, attempts: 5 }]);
    expect(await rowsOf(sent)).toEqual([{ rows: sentBefore + USERS - 1 }]);
    expect(keeper.deaths()).toBeGreaterThan(1);
    expect(keeper.deaths()).toBeLessThanOrEqual(6);
    expect(
      await rowsOf(
        `select attention.user_id, reason_code from attention_item as attention where kind = 'event_dead' and ref_id::bigint > ${before}`,
      ),
    ).toEqual([{ user_id: KILLER, reason_code: 'kills_its_process' }]);
  },
);
