/** What an answer of the look-ahead means for the alarm; instants are of `performance.now()`, in milliseconds. */
export type DuePlan = {
  /** When to run, ascending, at most one per millisecond, none before now. */
  readonly times: readonly number[];
  /** Whether some row was due before the last run that found nothing, and so is not ours to have for now. */
  readonly overdue: boolean;
};

export type DueAnswer = {
  /** When the question was sent. The database answered later, so that `askedAt + ms` is never late. */
  readonly askedAt: number;
  readonly now: number;
  readonly dueInMs: readonly number[];
  /** Start of the last run that found nothing. */
  readonly emptyRunAt: number;
};

/** Clocks of two processes and a started millisecond: a row this close to the empty run may have been missed by it. */
const MARGIN_MS = 2;

/**
 * Turns milliseconds into instants. A row that came due about when the last run looked is run for again after 1 ms;
 * one that an empty run has passed over (locked by another claimer, held back) is reported as overdue and left out.
 */
export function planDueTimes({ askedAt, now, dueInMs, emptyRunAt }: DueAnswer): DuePlan {
  const instants = dueInMs.map((ms) => askedAt + ms);
  const fresh = instants.filter((at) => at >= emptyRunAt - MARGIN_MS);
  // Never before now + 1: without that an answer of "due" and a run that finds nothing would chase each other.
  const times = new Map<number, number>();
  for (const at of fresh.map((instant) => Math.max(instant, now + 1)).sort((a, b) => a - b)) {
    times.set(Math.floor(at), at); // the last of a millisecond serves the others too
  }
  return { times: [...times.values()], overdue: fresh.length < instants.length };
}
