import { CEILINGS } from '@dueline/deliveries';
import { type BucketState, FRESH, halve, type Permits, putBack, shareNow, take } from './bucket.ts';
import { type Bucket, nameOf } from './ceilings.ts';

/** Where permits come from, by the bucket that they are of. */
export interface Buckets {
  /** Up to `count` permits of the bucket, or fewer if not all are good within a second; of the rate that holds now. */
  take(bucket: Bucket, count: number): Promise<Permits>;
  /** Notes a 429; `halved` unless it is of a burst that was noted before. */
  halve(bucket: Bucket): Promise<{ readonly halved: boolean; readonly share: number }>;
  /** In how many milliseconds the first of `count` requests that are put back may come again; the rest follow at the full rate. */
  putBack(bucket: Bucket, count: number): Promise<number>;
}

/** Buckets that nobody uses are looked for when there are so many. */
const KEPT = 1_000;

/** Buckets of this process alone, with an equal share of each ceiling for every replica. */
export function createLocalBuckets({
  replicas,
  clock = () => performance.now(),
}: {
  replicas: number;
  /** Milliseconds; never goes back. */
  clock?: () => number;
}): Buckets {
  const states = new Map<string, BucketState>();
  const change = <Result extends { state: BucketState }>(
    bucket: Bucket,
    work: (state: BucketState, nowMs: number) => Result,
  ): Result => {
    const name = nameOf(bucket);
    const nowMs = clock();
    const result = work(states.get(name) ?? FRESH, nowMs);
    if (states.size >= KEPT && !states.has(name)) forgetIdle(states, nowMs);
    states.set(name, result.state);
    return result;
  };
  const perSecondOf = ({ endpoint }: Bucket) => CEILINGS[endpoint] / replicas;
  return {
    take: async (bucket, count) => {
      const perSecond = perSecondOf(bucket);
      const { permits } = change(bucket, (state, nowMs) => take(state, { nowMs, count, perSecond }));
      return { ...permits, share: permits.share / replicas };
    },
    halve: async (bucket) => {
      const { halved, share } = change(bucket, halve);
      return { halved, share: share / replicas };
    },
    putBack: async (bucket, count) =>
      change(bucket, (state, nowMs) => putBack(state, { nowMs, count, perSecond: perSecondOf(bucket) })).firstMs,
  };
}

function forgetIdle(states: Map<string, BucketState>, nowMs: number): void {
  for (const [name, state] of states)
    if (state.nextMs <= nowMs && state.backMs <= nowMs && shareNow(state, nowMs) === 1) states.delete(name);
}
