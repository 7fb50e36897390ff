/** As many changes may commit out of the order of their ids, and each look still meets them. */
const BEHIND = 2_000n;
/** How often a look begins at the very beginning, at most: for what took longer to commit, or was put back. */
const WHOLE_EVERY_MS = 250;
/** Those looks take a tenth of the time, at most: they step over whatever cannot be cleaned away while somebody holds an old snapshot. */
const PAUSE_FOR_EACH_MS = 9;

/** One look at the outbox. */
interface OutboxLook {
  /** The id from which on it reads. */
  readonly from: string;
  /** It is over, whatever it found. */
  ended(): void;
}

/** Where looks at the outbox begin. */
export interface OutboxPlace {
  look(): OutboxLook;
  /** These were taken. */
  took(ids: readonly string[]): void;
}

/**
 * Begins a little behind what was taken last: what was decided since the last vacuum still stands in the index, and who begins before it steps over
 * all of that each time. What a look does not meet for that is announced by pg-listener when its head start is over.
 */
export function createOutboxPlace(clock: () => number = () => performance.now()): OutboxPlace {
  let last = 0n;
  let wholeAt = Number.NEGATIVE_INFINITY;
  return {
    look: () => {
      const begunAt = clock();
      if (begunAt < wholeAt) return { from: last < BEHIND ? '0' : String(last - BEHIND), ended: () => undefined };
      wholeAt = begunAt + WHOLE_EVERY_MS;
      return {
        from: '0',
        ended: () => {
          const endedAt = clock();
          wholeAt = Math.max(wholeAt, endedAt + PAUSE_FOR_EACH_MS * (endedAt - begunAt));
        },
      };
    },
    took: (ids) => {
      for (const id of ids) if (BigInt(id) > last) last = BigInt(id);
    },
  };
}
