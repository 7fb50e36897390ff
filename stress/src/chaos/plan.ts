import { type FaultRule, nthUserId } from '@dueline/line-simulator';
import { ROLES, type Plan as StressPlan } from '../plan.ts';
import { createRandom, type Random, shuffled } from '../random.ts';
import { AMNESIA, DARKNESS, FAULTS, type FaultId, HOLDS_REQUESTS, rulesOf } from './faults.ts';

/** How much of what; the seed says when and to whom. */
export interface Size {
  readonly seed: number;
  /** How long LINE misbehaves, in minutes of the machine's clock. */
  readonly minutes: number;
  /** How long a lease is, in milliseconds: what is frozen is frozen for longer. */
  readonly leaseMs: number;
  /** LINE forgets keys: the run must fail. */
  readonly forgetsKeys: boolean;
}

interface Moment {
  /** Since the beginning, in milliseconds. */
  readonly atMs: number;
}

/** What goes wrong with LINE from a moment on, until the next. */
interface Weather extends Moment {
  readonly faults: readonly FaultId[];
  readonly rules: readonly FaultRule[];
}

export interface PlannedCampaign extends Moment {
  readonly n: number;
  readonly castType: 'multicast' | 'broadcast';
}

/** What happens in a run, all of it known before. */
export interface ChaosPlan extends Pick<StressPlan, 'kills' | 'stops'> {
  readonly durationMs: number;
  readonly users: number;
  /** Whom LINE does not take while F22 is played; it takes everybody else, whenever it is well. */
  readonly poisoned: readonly string[];
  readonly weather: readonly Weather[];
  /** People whose attribute changes, so that rules match. */
  readonly waves: readonly (Moment & { readonly first: number; readonly count: number })[];
  /** People of the audience who change together, so that their menus are switched in bulk. */
  readonly crowds: ChaosPlan['waves'];
  readonly campaigns: readonly PlannedCampaign[];
  /** Emergency stops of the account of the rules. */
  readonly pauses: readonly (Moment & { readonly forMs: number })[];
  /** When a day passes in which LINE takes nothing. */
  readonly nightMs: number;
}

/** Who the rules and the campaigns are for: prefixes of user ids. */
export const PREFIXES = { rules: 'c5', multicast: 'c6', broadcast: 'c7' } as const;
/** Three chunks. */
export const AUDIENCE_SIZE = 1_100;
const WAVE_EVERY_MS = 500;
const MAX_WAVE = 8;
/** More than the twenty of which LINE is asked in one request. */
const CROWD = { everyMs: 4_000, size: 60 };
/** Faults go on so long with nobody writing, around the day that passes: whatever waits has been decided before. */
const NIGHT = { beforeMs: 8_000, afterMs: 4_000 };
const MIN_MINUTES = 0.2;
const MINUTE_MS = 60_000;

/** The schedule of a seed: the same numbers make the same schedule. Pure. */
export function planChaos({ seed, minutes, leaseMs, forgetsKeys }: Size): ChaosPlan {
  const random = createRandom(seed);
  const durationMs = Math.round(Math.max(minutes, MIN_MINUTES) * MINUTE_MS) + NIGHT.beforeMs + NIGHT.afterMs;
  const nightMs = random.int(Math.round(durationMs / 2), durationMs - NIGHT.afterMs);
  const isNight = (atMs: number): boolean => atMs > nightMs - NIGHT.beforeMs && atMs < nightMs + NIGHT.afterMs;
  const waves = planWaves(random, durationMs, isNight);
  const users = waves.reduce((sum, { count }) => sum + count, 0);
  const poisoned = poisonedOf(random, users);
  const weather = planWeather(random, { durationMs, nightMs, isNight, poisoned, forgetsKeys });
  return {
    ...{ durationMs, users, poisoned, waves, weather, nightMs },
    crowds: planCrowds(durationMs, isNight),
    campaigns: planCampaigns(random, durationMs, isNight),
    pauses: planPauses(random, durationMs, isNight),
    ...planDeaths(random, { durationMs, leaseMs, nightMs, weather }),
  };
}

function planWaves(random: Random, durationMs: number, isNight: (atMs: number) => boolean): ChaosPlan['waves'] {
  const waves: { atMs: number; first: number; count: number }[] = [];
  let first = 0;
  for (let atMs = 0; atMs < durationMs; atMs += WAVE_EVERY_MS) {
    if (isNight(atMs)) continue;
    const count = random.int(1, MAX_WAVE);
    waves.push({ atMs, first, count });
    first += count;
  }
  return waves;
}

function planCrowds(durationMs: number, isNight: (atMs: number) => boolean): ChaosPlan['crowds'] {
  const most = Math.min(Math.floor(AUDIENCE_SIZE / CROWD.size), Math.floor(durationMs / CROWD.everyMs));
  return Array.from({ length: most }, (_, n) => ({
    atMs: (n + 0.5) * CROWD.everyMs,
    ...{ first: n * CROWD.size, count: CROWD.size },
  })).filter(({ atMs }) => !isNight(atMs));
}

/** One in twenty of those with whom the rules deal, and a few of an audience. */
function poisonedOf(random: Random, users: number): string[] {
  const some = (prefix: string, count: number, among: number) =>
    Array.from({ length: count }, () => nthUserId(prefix, random.int(0, among - 1)));
  return [
    ...new Set([...some(PREFIXES.rules, Math.ceil(users / 20), users), ...some(PREFIXES.multicast, 3, AUDIENCE_SIZE)]),
  ];
}

interface Sky {
  readonly durationMs: number;
  readonly nightMs: number;
  readonly isNight: (atMs: number) => boolean;
  readonly poisoned: readonly string[];
  readonly forgetsKeys: boolean;
}

/** Every fault once before any comes again, two or three at a time, for some seconds. */
function planWeather(random: Random, { durationMs, nightMs, isNight, poisoned, forgetsKeys }: Sky): Weather[] {
  const weather: Weather[] = [];
  const always = forgetsKeys ? [AMNESIA] : [];
  let deck: FaultId[] = [];
  const draw = (): FaultId => {
    if (deck.length === 0) deck = shuffled(random, FAULTS);
    return deck.pop() ?? 'F05';
  };
  for (let atMs = 0; atMs < durationMs; atMs += random.int(3_000, 5_000)) {
    if (isNight(atMs)) continue;
    const faults = [...new Set(Array.from({ length: random.int(2, 3) }, draw))];
    const rules = faults.flatMap((fault) => rulesOf(fault, { random, poisoned, tag: String(weather.length) }));
    weather.push({ atMs, faults, rules: [...always, ...rules] });
  }
  const dusk: Weather = { atMs: nightMs - NIGHT.beforeMs, faults: ['F08', 'F02'], rules: DARKNESS };
  return [...weather, dusk].toSorted((a, b) => a.atMs - b.atMs);
}

function planCampaigns(random: Random, durationMs: number, isNight: (atMs: number) => boolean): PlannedCampaign[] {
  const count = Math.max(2, Math.round((3 * durationMs) / MINUTE_MS));
  return Array.from({ length: count }, (_, n) => ({
    n,
    castType: n % 3 === 1 ? ('broadcast' as const) : ('multicast' as const),
    atMs: Math.round(((n + 0.5) * durationMs) / count) + random.int(-1_000, 1_000),
  })).filter(({ atMs }) => !isNight(atMs));
}

function planPauses(random: Random, durationMs: number, isNight: (atMs: number) => boolean): ChaosPlan['pauses'] {
  const forMs = 3_000;
  const atMs = random.int(Math.round(durationMs / 8), Math.round(durationMs / 3));
  return isNight(atMs) || isNight(atMs + forMs) ? [] : [{ atMs, forMs }];
}

/** A death every six seconds, and a freeze every twelve: none when the day passes, none of a sender while LINE holds requests. */
function planDeaths(
  random: Random,
  {
    durationMs,
    leaseMs,
    nightMs,
    weather,
  }: { durationMs: number; leaseMs: number } & Pick<ChaosPlan, 'nightMs' | 'weather'>,
): Pick<ChaosPlan, 'kills' | 'stops'> {
  const isFree = (fromMs: number, untilMs: number): boolean =>
    untilMs < nightMs - NIGHT.beforeMs || fromMs > nightMs + NIGHT.afterMs;
  const holds = (fromMs: number, untilMs: number): boolean =>
    weather.some(
      ({ atMs, faults }, at) =>
        atMs < untilMs &&
        (weather[at + 1]?.atMs ?? durationMs) > fromMs &&
        faults.some((fault) => HOLDS_REQUESTS.has(fault)),
    );
  const victim = () => ({ atMs: random.int(500, durationMs), role: random.pick(ROLES), slot: random.int(0, 1) });
  const kills = Array.from({ length: Math.ceil(durationMs / 6_000) }, () => ({
    ...victim(),
    isReplaced: random.chance(0.5),
  }));
  const stops = Array.from({ length: Math.ceil(durationMs / 12_000) }, () => ({
    ...victim(),
    forMs: leaseMs + random.int(500, 2_000),
  }));
  const byTime = (a: Moment, b: Moment) => a.atMs - b.atMs;
  return {
    kills: kills.filter(({ atMs }) => isFree(atMs, atMs)).toSorted(byTime),
    stops: stops
      .filter(({ atMs, forMs }) => isFree(atMs, atMs + forMs))
      .map((stop) =>
        stop.role === 'line-delivery' && holds(stop.atMs - ATTEMPT_MS, stop.atMs + stop.forMs)
          ? { ...stop, role: 'trigger-worker' as const }
          : stop,
      )
      .toSorted(byTime),
  };
}

/** What began before a freeze may be held through it. */
const ATTEMPT_MS = 1_000;
