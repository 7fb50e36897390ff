import { readFile } from 'node:fs/promises';
import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { type App, type Stack, type StackOptions, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId, type ReceiptRow } from '@dueline/line-simulator';
import { type History, isOver, judgeHistory, type Planned } from '@dueline/stress';
import { createRule } from '@dueline/trigger-rules';
import { serviceEnvironment } from '../support.ts';
import { CAMPAIGN_CHANNELS, writeCampaigns } from './campaign-wave.ts';
import { CYCLE_FRIENDS, writeCycle } from './cycle-wave.ts';

/** Leases in seconds, so that a death costs seconds. */
export const LEASE_MS = 3_000;
export const SETTINGS = {
  CLAIM_LEASE_SECONDS: '3',
  OUTBOX_LEASE_SECONDS: '3',
  ATTEMPT_DEADLINE_SECONDS: '1',
  SETTLE_MARGIN_SECONDS: '0.5',
  LEASE_MARGIN_SECONDS: '1',
  REAP_INTERVAL_SECONDS: '0.5',
  DELIVERY_ANNOUNCE_INTERVAL_SECONDS: '0.5',
  DELIVERY_ANNOUNCE_AGAIN_SECONDS: '1',
  CAMPAIGN_STALE_SECONDS: '3',
  CAMPAIGN_CLOSE_INTERVAL_SECONDS: '0.5',
  INLINE_PROFILE: 'false', // so that due actions take the long way; cases that need the short one say so
  INLINE_HEAD_START_MS: '500', // so that it is the short one then, however busy the machine
};
const CHANNEL = {
  channelId: '3000000002',
  channelAccessToken: 'kill-token',
  users: [{ prefix: 'ca', count: 20_000 }],
};
/** Twenty seconds: no recovery takes longer with these leases. */
const PATIENCE_MS = 90_000;
const POLL_MS = 50;

/** A running Dueline whose apps may die, and everything that was ever written to it. */
export interface Stage {
  readonly stack: Stack;
  readonly tenant: Tenant;
  /** Changes an attribute of `users` people who were in no wave before: each is to get one message now and one after a second. */
  wave(users?: number): Promise<Planned[]>;
  /** Two campaigns that are due now, to friends of an account that had none before: each is to get both. */
  campaignWave(): Promise<Planned[]>;
  /** A cycle that is due now, of people who were in no wave before: each is to get one message. */
  cycleWave(): Promise<Planned[]>;
  /** Waits until all of it arrived and no row is open (or patience is over), and says what is wrong. */
  outcome(planned: readonly Planned[], patienceMs?: number): Promise<History>;
  /** What is wrong with everything since the beginning. */
  outcomeOfAll(): Promise<History>;
  /** Resolves when LINE delivered at least `count` of these. */
  received(planned: readonly Planned[], count: number): Promise<void>;
}

const rule = (lid: string, delaySeconds?: number) => ({
  name: lid,
  sourceType: 'attribute_changed' as const,
  sourceConfig: { attribute: 'city' },
  actionType: 'send_message' as const,
  actionConfig: {
    messages: [{ type: 'text' as const, text: `hello [[lid:${lid}]]` }],
    ...(delaySeconds === undefined ? {} : { delay: { seconds: delaySeconds } }),
  },
  frequency: 'every_time' as const,
});

/** With `env` on services of its own; `asInProduction` with production's leases instead of seconds. */
type StageOptions = Partial<Pick<StackOptions, 'appsFolder' | 'env' | 'asInProduction'>>;

export async function startStage(options: StageOptions = {}): Promise<Stage> {
  const appEnv = options.asInProduction ? {} : SETTINGS;
  const common = {
    env: serviceEnvironment(),
    channels: [CHANNEL, ...CAMPAIGN_CHANNELS],
    tell: () => undefined,
    appEnv,
  };
  const stack = await startStack({ ...common, ...options });
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'kill' });
  const account = { organizationId, ...CHANNEL, name: 'kill', timezone: 'Asia/Bangkok', secretsKey: stack.secretsKey };
  const tenant = await createLineOa(db, account);
  await createRule(db, tenant, rule('now'));
  await createRule(db, tenant, rule('later', 1));
  return { stack, tenant, ...createWaves(stack, tenant) };
}

function createWaves(stack: Stack, tenant: Tenant): Omit<Stage, 'stack' | 'tenant'> {
  const everything: Planned[] = [];
  let changed = 0;
  let campaignWaves = 0;
  const receipts: ReceiptRow[] = [];
  const look = async () => {
    receipts.push(...(await stack.line.receiptsSince(receipts.at(-1)?.seq ?? 0)));
  };
  const read = async (planned: readonly Planned[]): Promise<History> => {
    await look();
    return judgeHistory(stack, { planned, receipts: ofUsers(receipts, planned) });
  };
  const outcome = async (planned: readonly Planned[], patienceMs = PATIENCE_MS): Promise<History> => {
    for (const deadline = performance.now() + patienceMs; ; await sleep(POLL_MS)) {
      await look();
      const isQuiet = await isOver(stack, { planned, receipts: ofUsers(receipts, planned) });
      // Read anew: LINE may have got something between the look at it and the look at the rows.
      if (isQuiet || performance.now() > deadline) return read(planned);
    }
  };
  return {
    outcome,
    outcomeOfAll: () => outcome(everything),
    wave: async (users = 30) => {
      const first = changed;
      changed += users;
      const ids = Array.from({ length: users }, (_, n) => nthUserId('ca', first + n));
      const { organizationId, lineOaId } = tenant;
      const { $client } = stack.database.db;
      await $client.query(
        'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
        [organizationId, lineOaId, ids],
      );
      await $client.query(`update line_user set attributes = '{"city": "Oslo"}' where user_id = any($1)`, [ids]);
      const planned = ids.flatMap((user) => ['now', 'later'].map((lid) => ({ user, lid })));
      everything.push(...planned);
      return planned;
    },
    campaignWave: async () => {
      const planned = await writeCampaigns(stack, campaignWaves);
      campaignWaves += 1;
      everything.push(...planned);
      return planned;
    },
    cycleWave: async () => {
      const userIds = Array.from({ length: CYCLE_FRIENDS }, (_, n) => nthUserId('ca', changed + n));
      changed += CYCLE_FRIENDS;
      const planned = await writeCycle(stack, tenant, userIds);
      everything.push(...planned);
      return planned;
    },
    received: async (planned, count) => {
      for (const deadline = performance.now() + PATIENCE_MS; ; await sleep(10)) {
        await look();
        if (ofUsers(receipts, planned).length >= count) return;
        if (performance.now() > deadline) throw new Error(`LINE did not deliver ${count} messages in time`);
      }
    },
  };
}

function ofUsers(receipts: readonly ReceiptRow[], planned: readonly Planned[]): ReceiptRow[] {
  const users = new Set(planned.map(({ user }) => user));
  return receipts.filter(({ user }) => users.has(user));
}

/** Resolves when the app has reached its crash point. @throws Error with its log's end when it does not in time. */
export async function untilReached(
  app: App,
  { point, instance, patienceMs = PATIENCE_MS }: { point: string; instance: string; patienceMs?: number | undefined },
): Promise<void> {
  const marks = [`"crashPoint":"${point}"`, `"instance":"${instance}"`];
  for (const deadline = performance.now() + patienceMs; performance.now() < deadline; await sleep(POLL_MS)) {
    const lines = (await readFile(app.logFile, 'utf8')).split('\n');
    if (lines.some((line) => marks.every((mark) => line.includes(mark)))) return;
  }
  throw new Error(`${app.name} did not reach ${point}:\n${app.tail()}`);
}
