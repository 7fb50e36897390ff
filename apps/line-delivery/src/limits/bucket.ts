/** Requests that may go at once after a pause, as milliseconds of the rate. */
export const BURST_MS = 100;
/** Nobody waits longer for a permit than this; what would have to is not granted. */
export const MAX_WAIT_MS = 1_000;
/** 429s within so long after a halving are of the same burst. */
export const HALVING_WINDOW_MS = 2_000;
/** Without a 429 for so long the rate begins to grow again. */
export const QUIET_MS = 10_000;
/** How long it would take to grow from nothing to the ceiling. */
export const GROWTH_MS = 20_000;
/** No smaller part of the ceiling than this: some request must go, or nobody learns that LINE takes them again. */
export const LEAST_SHARE = 1 / 64;
/** What is put back comes again within this time. */
export const FURTHEST_MS = 3_600_000;

/** Times are milliseconds of one clock. */
export interface BucketState {
  /** When the next permit would be due if permits came evenly; in the past: the bucket is not in use. */
  readonly nextMs: number;
  /** Up to when the places of what was put back are taken. */
  readonly backMs: number;
  /** Part of the ceiling right after the last halving, and when that was. */
  readonly share: number;
  readonly halvedMs: number;
}

export const FRESH: BucketState = { nextMs: 0, backMs: 0, share: 1, halvedMs: Number.NEGATIVE_INFINITY };

/** The part of the ceiling that is allowed now: less after a 429, then after a quiet time more again, evenly. */
export function shareNow({ share, halvedMs }: BucketState, nowMs: number): number {
  const grown = Math.max(0, nowMs - halvedMs - QUIET_MS) / GROWTH_MS;
  return Math.min(1, share + grown);
}

/** Permits, all of which are good from `waitMs` on. */
export interface Permits {
  readonly granted: number;
  readonly waitMs: number;
  readonly share: number;
}

/**
 * Takes up to `count` permits of `perSecond`, as many as are good within MAX_WAIT_MS; those asked for later wait behind them.
 * Over any time t no more than perSecond · t permits become good, and once a burst (or one request for permits, if that is more).
 */
export function take(
  state: BucketState,
  { nowMs, count, perSecond }: { nowMs: number; count: number; perSecond: number },
): { state: BucketState; permits: Permits } {
  const share = shareNow(state, nowMs);
  const everyMs = 1_000 / (perSecond * share);
  const burstMs = Math.max(BURST_MS, everyMs);
  // A clock that was set back must not make anybody wait longer than anybody ever waits.
  const nextMs = Math.min(Math.max(state.nextMs, nowMs), nowMs + MAX_WAIT_MS + burstMs);
  const within = Math.floor((nowMs + MAX_WAIT_MS + burstMs - nextMs) / everyMs);
  const granted = Math.max(0, Math.min(count, within));
  const after = nextMs + granted * everyMs;
  const waitMs = Math.max(0, Math.ceil(after - burstMs - nowMs));
  return { state: { ...state, nextMs: after }, permits: { granted, waitMs, share } };
}

/** Half the rate after a 429; once for all 429s of a burst. */
export function halve(state: BucketState, nowMs: number): { state: BucketState; halved: boolean; share: number } {
  const share = shareNow(state, nowMs);
  if (nowMs - state.halvedMs < HALVING_WINDOW_MS) return { state, halved: false, share };
  const less = Math.max(LEAST_SHARE, share / 2);
  return { state: { ...state, share: less, halvedMs: nowMs }, halved: true, share: less };
}

/**
 * Places for `count` requests that no permit was granted for, one behind the other and behind those of earlier calls, a second away
 * at least. They are as far from each other as at the full rate: the rate may have grown until then.
 */
export function putBack(
  state: BucketState,
  { nowMs, count, perSecond }: { nowMs: number; count: number; perSecond: number },
): { state: BucketState; firstMs: number } {
  const first = Math.min(Math.max(state.backMs, nowMs + MAX_WAIT_MS), nowMs + FURTHEST_MS);
  const backMs = Math.min(first + (count * 1_000) / perSecond, nowMs + FURTHEST_MS);
  return { state: { ...state, backMs }, firstMs: Math.ceil(first - nowMs) };
}
