import { type Db, openDatabase } from '@dueline/db';
import { type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import type { ReceiptRow } from '@dueline/line-simulator';
import { type Account, channelsFor, seedAccounts, userOf } from './accounts.ts';
import { judgeEndings, readEndings } from './endings.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { isOver, judgeHistory } from './history.ts';
import { type Meddler, startMeddling } from './messages.ts';
import { click, createPeople, operateOn, type People } from './people.ts';
import { type Plan, planRun, ROLES, type Size } from './plan.ts';
import { type Report, report } from './report.ts';
import { playLanes, type Scene } from './timeline.ts';
import { writeActions } from './write-actions.ts';

export const PROFILES = ['queue', 'inline', 'both'] as const;
/** Who claims due actions: cron-scheduler for the queue, trigger-worker for itself, or both at once. */
export type Profile = (typeof PROFILES)[number];

export interface RunOptions extends Omit<Size, 'leaseMs'> {
  readonly profile: Profile;
  readonly env: NodeJS.ProcessEnv;
  readonly tell: (line: string) => void;
  /** Ends the run early, in order. */
  readonly interrupted: AbortSignal;
}

const LEASE_SECONDS = 3;
/** Leases in seconds, so that a death costs seconds; small batches, so that there are many messages. */
const SETTINGS = {
  ...{ CLAIM_LEASE_SECONDS: String(LEASE_SECONDS), OUTBOX_LEASE_SECONDS: String(LEASE_SECONDS) },
  ...{ ATTEMPT_DEADLINE_SECONDS: '1', SETTLE_MARGIN_SECONDS: '0.5', LEASE_MARGIN_SECONDS: '1' },
  ...{ REAP_INTERVAL_SECONDS: '0.5', RELEASE_CHECK_SECONDS: '0.5', RELEASE_AFTER_SECONDS: '2' },
  ...{ DELIVERY_ANNOUNCE_INTERVAL_SECONDS: '0.5', DELIVERY_ANNOUNCE_AGAIN_SECONDS: '1' },
  ...{ CLAIM_BATCH: '20', INLINE_BATCH: '20', QUEUE_AHEAD: '500' },
  DATABASE_MAX_CONNECTIONS: '8',
};
const PROFILE_SETTINGS: Readonly<Record<Profile, Readonly<Record<string, string>>>> = {
  queue: { QUEUE_PROFILE: 'true', INLINE_PROFILE: 'false', INLINE_HEAD_START_MS: '0' },
  inline: { QUEUE_PROFILE: 'false', INLINE_PROFILE: 'true' },
  both: { QUEUE_PROFILE: 'true', INLINE_PROFILE: 'true', INLINE_HEAD_START_MS: '0' }, // so that they compete
};
/** How long everything may take to end after the last fault: the leases, several times. */
const PATIENCE_MS = 60_000;
/** Time in which a duplicate would show. */
const QUIET_MS = 2_000;
const POLL_MS = 500;
const WRITE_POLL_MS = 20;
/** Who change something at the same time: so many that a busy machine does not keep them from coming before the action is done. */
const PEOPLE = 24;

/** Everything in a run that its scenes work with. */
interface Stage {
  readonly plan: Plan;
  readonly db: Db;
  readonly accounts: readonly Account[];
  readonly fleet: Fleet;
  readonly people: People;
  readonly meddler: Meddler;
}

/** Starts everything, plays the schedule of the seed and judges what came of it. @throws Error when interrupted. */
export async function run(options: RunOptions): Promise<Report> {
  const { env, tell, profile, interrupted } = options;
  const plan = planRun({ ...options, leaseMs: LEASE_SECONDS * 1_000 });
  const appEnv = { ...SETTINGS, ...PROFILE_SETTINGS[profile] };
  const stack = await startStack({ env, tell, appEnv, channels: channelsFor(options.actions) });
  const database = openDatabase({
    ...{ url: stack.databaseUrl, applicationName: 'stress', maxConnections: PEOPLE + 4 },
    onError: () => undefined, // the statement in hand throws
  });
  try {
    const accounts = await seedAccounts(stack, plan.actions);
    const fleet = await startFleet(stack, Object.fromEntries(ROLES.map((role) => [role, options.processes])));
    tell(`${options.processes} processes in each role; the apps log to ${stack.logFolder}`);
    const meddler = await startMeddling(stack, plan);
    const stage = { plan, db: database.db, accounts, fleet, people: createPeople(), meddler };
    const begin = performance.now();
    let behindMs: number;
    try {
      behindMs = await playLanes(lanesOf(stage), interrupted);
    } finally {
      await meddler.stop();
    }
    if (interrupted.aborted) throw new Error('interrupted');
    tell('all is played; waiting for the end of every row');
    const seconds = () => Math.round((performance.now() - begin) / 1_000);
    return await judge(stack, stage, { ...options, behindMs, seconds });
  } finally {
    await database.close();
    await stack.stop();
  }
}

function lanesOf({ plan, db, accounts, fleet, people, meddler }: Stage): Scene[][] {
  const ids = new Map<number, string>();
  /** Waits until the action is written, if it is behind its time. */
  const idOf = async (n: number, signal: AbortSignal): Promise<string> => {
    for (;;) {
      const id = ids.get(n);
      if (id !== undefined) return id;
      if (signal.aborted) throw new Error(`action ${n} is not written`);
      await sleep(WRITE_POLL_MS, signal);
    }
  };
  const accountOf = (n: number): Account => {
    const account = accounts[plan.actions[n]?.account ?? -1];
    if (account === undefined) throw new Error(`action ${n} is of no account`);
    return account;
  };
  const scenes = <Moment extends { readonly atMs: number }>(
    moments: readonly Moment[],
    play: (moment: Moment, signal: AbortSignal) => Promise<void>,
  ): Scene[] => moments.map((moment) => ({ atMs: moment.atMs, play: (signal) => play(moment, signal) }));
  const change = async (moment: Plan['operations'][number], signal: AbortSignal) =>
    operateOn(people, { db, tenant: accountOf(moment.n), id: await idOf(moment.n, signal) }, moment);
  return [
    scenes(plan.batches, async ({ first, count }) => {
      const made = await writeActions(db, accounts, plan.actions.slice(first, first + count));
      for (const [n, id] of made) ids.set(n, id);
    }),
    ...Array.from({ length: PEOPLE }, (_, lane) =>
      scenes(
        plan.operations.filter(({ n }) => n % PEOPLE === lane),
        change,
      ),
    ),
    scenes(plan.clicks, async ({ n, isRobot }, signal) => {
      await idOf(n, signal);
      await click(db, accountOf(n), { userId: userOf({ n, account: plan.actions[n]?.account ?? -1 }), isRobot });
    }),
    scenes(plan.repeats, async ({ ns, ...repeat }, signal) => {
      const [first = 0] = ns;
      const repeated = await Promise.all(ns.map((n) => idOf(n, signal)));
      await meddler.repeat(db, accountOf(first), { ids: repeated, ...repeat });
    }),
    scenes(plan.kills, fleet.kill),
    // each on a lane of its own: some are frozen at the same time
    ...plan.stops.map((stop) => scenes([stop], fleet.freeze)),
  ];
}

/** Waits until every row has ended, or patience is over, and compares. */
async function judge(
  stack: Stack,
  { plan, db, fleet, people, meddler }: Stage,
  options: RunOptions & { readonly seconds: () => number; readonly behindMs: number },
): Promise<Report> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await isOver(stack, { planned: [], receipts: [], mayCancel: true })) && performance.now() < deadline)
    await sleep(POLL_MS);
  const seconds = options.seconds();
  await sleep(QUIET_MS);
  const receipts: ReceiptRow[] = await stack.line.receiptsSince(0);
  const endings = judgeEndings(plan.actions, { rows: await readEndings(db), told: people.told, receipts });
  const history = await judgeHistory(stack, { planned: endings.planned, receipts, mayCancel: true });
  const { rows } = await db.$client.query<{ deadlocks: number }>(
    'select deadlocks::int from pg_stat_database where datname = current_database()',
  );
  const deadlocks = rows[0]?.deadlocks ?? 0;
  return report({
    ...options,
    seconds,
    receipts: receipts.length,
    endings,
    history,
    fleet,
    people,
    meddler,
    deadlocks,
    plan,
  });
}
