import { type Database, type Db, openDatabase } from '@dueline/db';
import { type Stack, startStack } from '@dueline/demo';
import { checkHistory, type ExportRecord, type HistoryReport, ledgerOfSimulator } from '@dueline/line-simulator';
import { type Fleet, startFleet } from '../fleet.ts';
import { playLanes, type Scene } from '../timeline.ts';
import { createProductClock, type ProductClock } from './clock.ts';
import { countFaults } from './count-faults.ts';
import { exportHistory } from './export.ts';
import { ATTEMPT } from './faults.ts';
import { controlLine, type LineControl } from './line.ts';
import { withoutTheirMenu } from './menus.ts';
import { lookAfterAccounts } from './person.ts';
import { type ChaosPlan, planChaos, type Size } from './plan.ts';
import { type ChaosReport, reportOf } from './report.ts';
import { settle } from './settle.ts';
import { AUDIENCE_TOKEN, channelsFor, RULES_CHANNEL, type Stage, setStage } from './stage.ts';

export interface ChaosOptions extends Omit<Size, 'leaseMs'> {
  readonly env: NodeJS.ProcessEnv;
  readonly tell: (line: string) => void;
  /** Given every record of the product's export, as it is checked. */
  readonly keep: (record: ExportRecord) => void;
  /** Ends the run early, in order. */
  readonly interrupted: AbortSignal;
}

const LEASE_MARGIN_SECONDS = 3;
/** Leases in seconds, so that a death costs seconds. */
const SETTINGS = {
  ...{ CLAIM_LEASE_SECONDS: '3', OUTBOX_LEASE_SECONDS: '3', LEASE_MARGIN_SECONDS: String(LEASE_MARGIN_SECONDS) },
  ATTEMPT_DEADLINE_SECONDS: String(ATTEMPT.deadlineMs / 1_000),
  SETTLE_MARGIN_SECONDS: String(ATTEMPT.settleMs / 1_000),
  ...{ REAP_INTERVAL_SECONDS: '0.5', RELEASE_CHECK_SECONDS: '0.5', RELEASE_AFTER_SECONDS: '2' },
  ...{ DELIVERY_ANNOUNCE_INTERVAL_SECONDS: '0.5', DELIVERY_ANNOUNCE_AGAIN_SECONDS: '1' },
  ...{ CAMPAIGN_STALE_SECONDS: '6', CAMPAIGN_CLOSE_INTERVAL_SECONDS: '0.5', INLINE_HEAD_START_MS: '0' },
  ...{ PAUSED_LOOK_SECONDS: '0.5', BREAKER_OPEN_SECONDS: '3', DATABASE_MAX_CONNECTIONS: '8' },
};
const PROCESSES = { 'pg-listener': 1, 'trigger-worker': 1, 'cron-scheduler': 1, 'line-delivery': 2 } as const;
const LEASE_MS = ATTEMPT.deadlineMs + LEASE_MARGIN_SECONDS * 1_000;
const DAY_SECONDS = 86_400;
const BLOCKED = 0.05;

/** Everything in a run that its scenes work with. */
interface Cast {
  readonly plan: ChaosPlan;
  readonly seed: number;
  readonly line: LineControl;
  readonly stage: Stage;
  readonly fleet: Fleet;
  readonly clock: ProductClock;
}

/** Starts everything, plays the schedule of the seed, lets it come to rest and judges it. @throws Error when interrupted. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { env, tell, interrupted, seed } = options;
  const plan = planChaos({ ...options, leaseMs: LEASE_MS });
  const channels = channelsFor(plan);
  const stack = await startStack({ env, tell, name: 'chaos', appEnv: SETTINGS, channels });
  const database = openDatabase({
    ...{ url: stack.databaseUrl, applicationName: 'chaos', maxConnections: 4 },
    onError: () => undefined, // the statement in hand throws
  });
  try {
    const stage = await setStage({ ...stack, database }, plan);
    const line = controlLine(
      stack,
      channels.map(({ channelId }) => channelId),
    );
    await line.blockSome(RULES_CHANNEL, BLOCKED);
    const fleet = await startFleet(stack, PROCESSES);
    const clock = createProductClock({ ...stack, database });
    const cast: Cast = { plan, seed, line, stage, fleet, clock };
    tell(`faults for ${Math.round(plan.durationMs / 1_000)} s; the apps log to ${stack.logFolder}`);
    const { faultsEndedAt, open } = await lookedAfter(database.db, async () => {
      await playLanes(lanesOf(cast), interrupted);
      if (interrupted.aborted) throw new Error('interrupted');
      await line.heal();
      const endedAt = clock.now();
      tell('LINE is well again; waiting for the end of every row');
      return { faultsEndedAt: endedAt, open: await settle(database.db, clock, interrupted) };
    });
    return await judge({ stack, database, cast }, { ...options, faultsEndedAt, open });
  } finally {
    await database.close();
    await stack.stop();
  }
}

/** Works while somebody looks after the accounts. @throws What either throws. */
async function lookedAfter<Result>(db: Db, work: () => Promise<Result>): Promise<Result> {
  const done = new AbortController();
  const person = lookAfterAccounts(db, done.signal);
  try {
    return await Promise.race([work(), person.then(() => new Promise<never>(() => undefined))]);
  } finally {
    done.abort();
    await person.catch(() => undefined);
  }
}

function lanesOf({ plan, seed, line, stage, fleet, clock }: Cast): Scene[][] {
  const scenes = <Moment extends { readonly atMs: number }>(
    moments: readonly Moment[],
    play: (moment: Moment, signal: AbortSignal) => Promise<void>,
  ): Scene[] => moments.map((moment) => ({ atMs: moment.atMs, play: (signal) => play(moment, signal) }));
  const night = async () => {
    if (!(await clock.ahead(DAY_SECONDS + 60)))
      throw new Error('the day could not pass: requests were on their way to LINE all the time');
  };
  return [
    scenes(plan.weather, ({ rules }) => line.play(rules, seed)),
    scenes(plan.waves, stage.wave),
    scenes(plan.crowds, stage.crowd),
    scenes(plan.campaigns, stage.campaign),
    scenes(plan.pauses, stage.pause),
    scenes([{ atMs: plan.nightMs }], night),
    scenes([{ atMs: plan.durationMs }], () => Promise.resolve()),
    scenes(plan.kills, fleet.kill),
    // each on a lane of its own: some are frozen at the same time
    ...plan.stops.map((stop) => scenes([stop], fleet.freeze)),
  ];
}

async function judge(
  { stack, database, cast }: { stack: Stack; database: Database; cast: Cast },
  options: ChaosOptions & { readonly faultsEndedAt: string; readonly open: readonly string[] },
): Promise<ChaosReport> {
  const { clock, stage, fleet } = cast;
  const ledger = ledgerOfSimulator(stack.line.controlUrl.replace(/\/__sim$/, ''));
  const kept: ExportRecord[] = [];
  const records = async function* (db: Db) {
    for await (const record of exportHistory(db, {
      toProductTime: clock.toProductTime,
      attemptDeadlineMs: ATTEMPT.deadlineMs,
    })) {
      options.keep(record);
      if (record.kind !== 'attempt') kept.push(record);
      yield record;
    }
  };
  const history: HistoryReport = await checkHistory({
    ...{ ledger, records: records(database.db), seed: String(options.seed) },
    ...{ faultsEndedAt: options.faultsEndedAt, endedAt: clock.now(), attemptTimeoutMs: ATTEMPT.deadlineMs },
  });
  const faults = await countFaults(ledger.requests());
  const withoutMenu = await withoutTheirMenu({ ...stack, database }, AUDIENCE_TOKEN);
  const { poisoned } = cast.plan;
  return reportOf({ ...options, history, withoutMenu, records: kept, planned: stage.planned, poisoned, fleet, faults });
}
