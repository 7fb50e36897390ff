import { APP_NAMES, type AppName } from '@dueline/demo';
import { type FaultRule, nthUserId } from '@dueline/line-simulator';
import { FAULTS, type FaultId, rulesOf } from '../chaos/faults.ts';
import { createRandom, type Random, shuffled } from '../random.ts';

/** How much of what; the seed says when and to whom. */
export interface Size {
  readonly seed: number;
  /** People of the first campaign. */
  readonly recipients: number;
  /** Campaigns in all: the first to the crowd, the others to the town. */
  readonly campaigns: number;
  /** Of the requests to LINE so many meet a fault, 0 to 1. */
  readonly share: number;
  /** How long LINE takes for each request that meets no other fault, in milliseconds. */
  readonly latencyMs: number;
  /** Deaths of each app. */
  readonly kills: number;
}

export interface PlannedCampaign {
  readonly lid: string;
  readonly to: keyof typeof PREFIXES;
  readonly castType: 'multicast' | 'broadcast';
  /** Since the beginning, in milliseconds. */
  readonly atMs: number;
}

/** What goes wrong with LINE for so many milliseconds. */
interface Weather {
  readonly forMs: number;
  readonly faults: readonly FaultId[];
  readonly rules: readonly FaultRule[];
}

export interface PlannedKill {
  readonly role: AppName;
  readonly slot: number;
  readonly isReplaced: boolean;
  /** When so much of all requests has come to its end; below 0 at once. */
  readonly atShare: number;
}

/** What happens in a run, all of it known before. */
export interface CampaignPlan {
  readonly recipients: number;
  readonly campaigns: readonly PlannedCampaign[];
  /** Begins anew when it is over. */
  readonly weather: readonly Weather[];
  readonly kills: readonly PlannedKill[];
  /** Whom LINE refuses while faults are played. */
  readonly poisoned: readonly string[];
  /** Requests in all, if nothing is split. */
  readonly requests: number;
}

/** Who the campaigns are for: prefixes of user ids. */
export const PREFIXES = { crowd: 'd1', town: 'd2' } as const;
/** Three chunks. */
export const TOWN = 1_100;
const CHUNK = 500;
const CAMPAIGN_EVERY_MS = 1_500;
const SPELLS = 100;
const CALM_MS = 60_000;
/** One person in so many is refused. */
const POISONED_PER = 10_000;

/** Faults of the list that say nothing about campaigns, and why. */
export const NOT_FOR_CAMPAIGNS: Partial<Record<FaultId, string>> = {
  F04: 'LINE says so of pushes to one user only',
  F17: 'LINE does so with menus only',
};

/** The faults that a campaign may meet here. */
export const CAMPAIGN_FAULTS = FAULTS.filter((fault) => NOT_FOR_CAMPAIGNS[fault] === undefined);

/** Whom LINE refuses, it refuses in any weather. */
const POISON: FaultId = 'F22';
const CHANGING = CAMPAIGN_FAULTS.filter((fault) => fault !== POISON);

/** The schedule of a seed: the same numbers make the same schedule. Pure. */
export function planCampaigns({ campaigns: count, ...size }: Size): CampaignPlan {
  const { seed, recipients, share, kills } = size;
  const random = createRandom(seed);
  const poisoned = poisonedOf(random, recipients);
  const campaigns = Array.from({ length: count }, (_, n): PlannedCampaign => {
    const castType = n % 4 === 2 ? 'broadcast' : 'multicast';
    return { lid: `c:${n}`, to: n === 0 ? 'crowd' : 'town', castType, atMs: n * CAMPAIGN_EVERY_MS };
  });
  const requests = campaigns.reduce(
    (sum, { to, castType }) =>
      sum + (castType === 'broadcast' ? 1 : Math.ceil((to === 'crowd' ? recipients : TOWN) / CHUNK)),
    0,
  );
  return {
    ...{ recipients, campaigns, requests, poisoned },
    weather: share === 0 ? [{ forMs: CALM_MS, faults: [], rules: slow(size) }] : planWeather(random, size, poisoned),
    kills: APP_NAMES.flatMap((role) => planKills(random, role, kills)),
  };
}

/** Every fault once before any comes again, two or three at a time, for some seconds; some people are refused all the time. */
function planWeather(random: Random, size: Omit<Size, 'campaigns'>, poisoned: readonly string[]): Weather[] {
  let deck: FaultId[] = [];
  const draw = (): FaultId => {
    if (deck.length === 0) deck = shuffled(random, CHANGING);
    return deck.pop() ?? 'F05';
  };
  return Array.from({ length: SPELLS }, (_, spell) => {
    const faults = [...new Set(Array.from({ length: random.int(2, 3) }, draw))];
    const probability = 1 - (1 - size.share) ** (1 / faults.length);
    const rules = [...faults, POISON]
      .flatMap((fault) => rulesOf(fault, { random, poisoned, tag: String(spell) }))
      .map((rule) => atRate(rule, probability));
    return { forMs: random.int(2_000, 4_000), faults: [...faults, POISON], rules: [...rules, ...slow(size)] };
  });
}

/** Behind all other faults, for the first that a request falls under is played. */
const slow = ({ latencyMs: ms }: Pick<Size, 'latencyMs'>): FaultRule[] =>
  ms === 0 ? [] : [{ id: 'F01.slow', effect: { type: 'latency', ms } }];

/** About how many requests a burst meets. */
const BURST = 10;

/** The rule for one request in so many; of a poisoned person, and of what was met before, for each. */
function atRate(rule: FaultRule, probability: number): FaultRule {
  const { match, burst, effect } = rule;
  const isOfRepeats = match?.keyAttempt !== undefined && !match.keyAttempt.includes(1);
  if (effect.type === 'poison' || isOfRepeats) return rule;
  const rate = burst === undefined ? probability : probability / BURST;
  // What LINE says of the content when it is asked for just that, is believed: a 400 without cause is of sends.
  const endpoint = effect.type === 'status' && effect.status === 400 ? { endpoint: 'multicast' } : {};
  return { ...rule, match: { ...match, ...endpoint, probability: rate } };
}

/** So few that a chunk here and there must be split. */
function poisonedOf(random: Random, recipients: number): string[] {
  const some = (prefix: string, among: number) =>
    Array.from({ length: Math.max(2, Math.round(among / POISONED_PER)) }, () =>
      nthUserId(prefix, random.int(0, among - 1)),
    );
  return [...new Set([...some(PREFIXES.crowd, recipients), ...some(PREFIXES.town, TOWN)])];
}

/** Some before anything is sent, so that they meet the freeze, the others while it is. */
function planKills(random: Random, role: AppName, count: number): PlannedKill[] {
  return Array.from({ length: count }, () => ({
    ...{ role, slot: random.int(0, 1), isReplaced: random.chance(0.5) },
    atShare: random.int(-15, 80) / 100,
  })).toSorted((a, b) => a.atShare - b.atShare);
}
