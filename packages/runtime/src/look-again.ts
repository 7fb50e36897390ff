/** Milliseconds after a find at which one looks once more; the regular poll goes on from there. */
const LOOKS_MS = [5, 15, 35, 75, 155, 315, 635];

export interface LookAgain {
  /** Something was found, or told of, just now. */
  found(): void;
  /** Milliseconds until each look that is still to come. */
  waits(): number[];
}

/**
 * When to look again after something was found. NOTIFY is gated: a writer that commits within 10 ms of another's notification
 * sends none, and one that was open longer commits at any time after; both are found by one of these looks.
 */
export function createLookAgain(clock: () => number = () => performance.now()): LookAgain {
  let foundAt = Number.NEGATIVE_INFINITY;
  return {
    found: () => {
      foundAt = clock();
    },
    waits: () => LOOKS_MS.map((ms) => foundAt + ms - clock()).filter((ms) => ms > 0),
  };
}
