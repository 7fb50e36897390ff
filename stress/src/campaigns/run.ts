import { type Database, openDatabase } from '@dueline/db';
import { APP_NAMES, type AppName, type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { createProductClock } from '../chaos/clock.ts';
import { ATTEMPT } from '../chaos/faults.ts';
import { controlLine } from '../chaos/line.ts';
import { settle } from '../chaos/settle.ts';
import { startFleet } from '../fleet.ts';
import { playLanes, type Scene } from '../timeline.ts';
import type { Act, Cast, Stopped } from './cast.ts';
import { judge } from './judge.ts';
import { lookAfterAccounts } from './look-after-accounts.ts';
import { meterMemory } from './memory.ts';
import { type CampaignPlan, planCampaigns, type Size } from './plan.ts';
import { createProgress } from './progress.ts';
import { releaseHeld } from './release-held.ts';
import type { CampaignReport } from './report.ts';
import { CHANNEL_IDS, channelsFor, setStage } from './stage.ts';

export interface CampaignOptions extends Size {
  readonly env: NodeJS.ProcessEnv;
  readonly tell: (line: string) => void;
  /** Ends the run early, in order. */
  readonly interrupted: AbortSignal;
  readonly act?: Act | undefined;
  /** Requests that each sender has on their way at once; as many as fit the run when not given. */
  readonly slots?: number | undefined;
}

/** Leases in seconds, so that a death costs seconds. */
const SETTINGS = {
  ...{ CLAIM_LEASE_SECONDS: '3', OUTBOX_LEASE_SECONDS: '3', LEASE_MARGIN_SECONDS: '3' },
  SETTLE_MARGIN_SECONDS: String(ATTEMPT.settleMs / 1_000),
  ...{ REAP_INTERVAL_SECONDS: '0.5', RELEASE_CHECK_SECONDS: '0.5', RELEASE_AFTER_SECONDS: '2' },
  ...{ DELIVERY_ANNOUNCE_INTERVAL_SECONDS: '0.5', DELIVERY_ANNOUNCE_AGAIN_SECONDS: '1' },
  ...{ CAMPAIGN_STALE_SECONDS: '6', CAMPAIGN_CLOSE_INTERVAL_SECONDS: '0.5' },
  ...{ PAUSED_LOOK_SECONDS: '0.5', BREAKER_OPEN_SECONDS: '3', DATABASE_MAX_CONNECTIONS: '8' },
};
/** Beside faults: so few at once that a request is answered in time on a busy machine. */
const UNDER_FAULTS = { deadlineMs: ATTEMPT.deadlineMs, most: 8 };
/** Without faults: LINE's own pace, as in production. */
const CALM = { deadlineMs: 15_000, most: 50 };
/** When somebody acts: what was begun before is soon at LINE, on a busy machine too. */
const ACTED = { ...CALM, most: 8 };
/** Of all requests so few are on their way at once that a small campaign takes a while too. */
const PART = 40;
const REPLICAS = 2;
/** For a statement about a million people on a busy machine. */
const PATIENCE_MS = 600_000;
const BLOCKED = 0.05;
/** How long a death waits that comes before anything is sent, for each hundredth. */
const BEFORE_MS = 100;

/** Starts everything, plays the schedule of the seed, lets it come to rest and judges it. @throws Error when interrupted. */
export async function runCampaigns(options: CampaignOptions): Promise<CampaignReport> {
  const { env, tell, share } = options;
  const plan = planCampaigns(options);
  const calm = options.act === undefined ? CALM : ACTED;
  const { deadlineMs, most } = share === 0 ? calm : UNDER_FAULTS;
  const concurrency = options.slots ?? Math.min(most, Math.max(2, Math.round(plan.requests / PART)));
  const pace = { ATTEMPT_DEADLINE_SECONDS: String(deadlineMs / 1_000), SEND_CONCURRENCY: String(concurrency) };
  const appEnv = { ...SETTINGS, ...pace };
  const stack = await startStack({ env, tell, name: 'campaigns', appEnv, channels: channelsFor(plan) });
  const database = openDatabase({
    ...{ url: stack.databaseUrl, applicationName: 'campaigns', maxConnections: 4, statementTimeoutMs: PATIENCE_MS },
    onError: () => undefined, // the statement in hand throws
  });
  try {
    return await play({ stack, database, plan }, options);
  } finally {
    await database.close();
    await stack.stop();
  }
}

async function play(
  { stack, database, plan }: { stack: Stack; database: Database; plan: CampaignPlan },
  options: CampaignOptions,
): Promise<CampaignReport> {
  const { tell, interrupted, recipients, seed } = options;
  const began = performance.now();
  const stage = await setStage({ ...stack, database }, plan);
  const populateMs = performance.now() - began;
  tell(`${recipients} people are written; the apps log to ${stack.logFolder}`);
  const line = controlLine(stack, Object.values(CHANNEL_IDS));
  for (const channelId of Object.values(CHANNEL_IDS)) await line.blockSome(channelId, BLOCKED);
  const person = lookAfterAccounts(database.db, stage.tenants);
  const fleet = await startFleet(stack, Object.fromEntries(APP_NAMES.map((role) => [role, REPLICAS])));
  const memory = meterMemory(() => [
    ...fleet.running(),
    { role: 'line-simulator', pid: stack.line.process.child.pid },
    { role: 'checker', pid: process.pid },
  ]);
  try {
    const clock = createProductClock({ ...stack, database });
    const untilShare = createProgress(database.db, plan.requests);
    const cast: Cast = { plan, stack, database, line, stage, fleet, clock, untilShare };
    const startedAt = performance.now();
    const stopped: Stopped[] = [];
    await playLanes(lanesOf(cast, { ...options, stopped }), interrupted);
    if (interrupted.aborted) throw new Error('interrupted');
    await line.heal();
    const faultsEndedAt = clock.now();
    tell('all is played; waiting for the end of every row');
    let open = await settle(database.db, clock, interrupted);
    while ((await releaseHeld(database.db, stage.tenants)) > 0) open = await settle(database.db, clock, interrupted);
    const sendMs = performance.now() - startedAt;
    return await judge(cast, { ...{ seed, recipients, stopped, faultsEndedAt, open, populateMs, sendMs }, memory });
  } finally {
    await Promise.all([memory.stop(), person.stop()]);
  }
}

function lanesOf(
  cast: Cast,
  { seed, act, stopped }: Pick<CampaignOptions, 'seed' | 'act'> & { stopped: Stopped[] },
): Scene[][] {
  const { plan, stage, untilShare, line } = cast;
  const over = new AbortController();
  return [
    plan.campaigns.map((campaign) => ({ atMs: campaign.atMs, play: () => stage.schedule(campaign) })),
    [{ atMs: 0, play: (signal) => untilShare(1, signal).finally(() => over.abort()) }],
    [{ atMs: 0, play: (signal) => playWeather({ plan, line, seed }, AbortSignal.any([signal, over.signal])) }],
    ...APP_NAMES.map((role) => deathsOf(role, cast, over.signal)),
    act === undefined ? [] : [{ atMs: 0, play: async (signal) => void stopped.push(...(await act(cast, signal))) }],
  ];
}

async function playWeather(
  { plan, line, seed }: Pick<Cast, 'plan' | 'line'> & { seed: number },
  over: AbortSignal,
): Promise<void> {
  for (let spell = 0; !over.aborted; spell += 1) {
    const weather = plan.weather[spell % plan.weather.length];
    if (weather === undefined) return;
    await line.play(weather.rules, seed + spell);
    await sleep(weather.forMs, over);
  }
}

/** What has not died before all is over dies then. */
const deathsOf = (role: AppName, { plan, fleet, untilShare }: Cast, over: AbortSignal): Scene[] =>
  plan.kills
    .filter((kill) => kill.role === role)
    .map((kill) => ({
      atMs: Math.max(0, -kill.atShare * 100 * BEFORE_MS),
      play: async (signal) => {
        await untilShare(kill.atShare, AbortSignal.any([signal, over]));
        if (!signal.aborted) await fleet.kill(kill);
      },
    }));
