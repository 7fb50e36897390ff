import { createPace } from './pace.ts';

/** From when on a claimer's looks for overdue rows read. */
export interface OverdueLooks {
  /** In seconds of the epoch; -Infinity: they read all rows; null: nothing is known, they read what came due of late. */
  overdueFrom(): number | null;
  /** A look is done: nothing that a claim would take is due before `from`, as far as it read. */
  foundOverdue(from: number): void;
}

/** A look at all rows reads the dead ones that an old snapshot holds: it may take this part of a claimer's time. */
const SHARE = 1 / 10;

export function createOverdueLooks(clock: () => number): OverdueLooks {
  const all = createPace(clock);
  let from: number | null = null;
  return {
    overdueFrom: () => {
      if (!all.isDue({ pauseMs: 0, share: SHARE })) return from;
      all.begin();
      return Number.NEGATIVE_INFINITY;
    },
    foundOverdue: (found) => {
      all.end();
      from = found;
    },
  };
}
