/** Keeps something that may be slow to its part of the time. */
export interface Pace {
  /** Whether it may begin again: `pauseMs` after it began, when it takes no more than `share` of the time or that is a minute ago. */
  isDue(options: { pauseMs: number; share: number }): boolean;
  begin(): void;
  end(): void;
}

const LONGEST_MS = 60_000;

/**
 * What begins and does not end has failed, by a statement timeout for instance: it counts as having taken until it is asked for again, so
 * that it does not keep everything else from its turn.
 */
export function createPace(clock: () => number): Pace {
  let begunAt = Number.NEGATIVE_INFINITY;
  let tookMs: number | undefined = 0;
  const end = (): number => {
    tookMs ??= clock() - begunAt;
    return tookMs;
  };
  return {
    isDue: ({ pauseMs, share }) => {
      const costMs = Math.min(LONGEST_MS, end() / share);
      return clock() - begunAt >= Math.max(pauseMs, costMs);
    },
    begin: () => {
      begunAt = clock();
      tookMs = undefined;
    },
    end: () => void end(),
  };
}
