/** Milliseconds after a find at which the outbox is looked at once more; the regular poll goes on from there. */
const LOOKS_MS = [10, 30, 70, 150, 310, 630];

export interface LookAgain {
  /** Something was found just now. */
  found(): void;
  /** Milliseconds until each look that is still to come. */
  waits(): number[];
}

/**
 * When to look again after events were found. NOTIFY is gated: a writer that commits within 10 ms of another's notification
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
