/** As many changes may commit out of the order of their ids, and each look still meets them. */
const BEHIND = 2_000n;
/** How often a look begins at the very beginning: for what took longer to commit, or was put back. */
const WHOLE_EVERY_MS = 250;

/** Where looks at the outbox begin. */
export interface OutboxPlace {
  /** The id from which on the next look reads. */
  next(): string;
  /** These were taken. */
  took(ids: readonly string[]): void;
}

/**
 * Begins a little behind what was taken last: what was decided since the last vacuum still stands in the index, and who begins before it steps over
 * all of that each time.
 */
export function createOutboxPlace(clock: () => number = () => performance.now()): OutboxPlace {
  let last = 0n;
  let wholeAt = Number.NEGATIVE_INFINITY;
  return {
    next: () => {
      const isWhole = clock() - wholeAt >= WHOLE_EVERY_MS;
      if (isWhole) wholeAt = clock();
      return isWhole || last < BEHIND ? '0' : String(last - BEHIND);
    },
    took: (ids) => {
      for (const id of ids) if (BigInt(id) > last) last = BigInt(id);
    },
  };
}
