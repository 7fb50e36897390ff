/** So many requests in so many milliseconds; the bucket refills evenly. */
export interface Limit {
  readonly count: number;
  readonly perMs: number;
}

export interface TokenBucket {
  /** Takes one token; false if there is none, which takes nothing. */
  take(nowMs: number): boolean;
}

/** LINE's limiter for one channel and one endpoint. It starts full. */
export function createTokenBucket({ count, perMs }: Limit, burst: number): TokenBucket {
  const capacity = Math.max(1, count * burst);
  let tokens = capacity;
  let filledAt: number | undefined;
  return {
    take(nowMs) {
      // A clock that is set back must not drain the bucket.
      const elapsed = Math.max(0, nowMs - (filledAt ?? nowMs));
      tokens = Math.min(capacity, tokens + (elapsed * count) / perMs);
      filledAt = nowMs;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
