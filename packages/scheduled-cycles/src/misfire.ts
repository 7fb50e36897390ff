import type { Calendar } from './calendar.ts';

/** What becomes of cycles whose time passed while nobody was there to open them. */
export type Misfire = 'skip' | 'latest' | 'all';

/** A cycle that is opened within so many milliseconds of its time is not late. */
const ON_TIME_MS = 60_000;
/** Cycles of one rule that are looked at, at most, however many were missed. */
export const MOST_MISSED = 100;

export interface DueCycles {
  /** Those that run, the earliest first. */
  readonly runs: readonly Date[];
  /** Those that do not. */
  readonly skipped: readonly Date[];
  /** There were even more of them before, from the first to just before the earliest of `skipped`; undefined: there were not. */
  readonly uncounted: { readonly from: Date; readonly until: Date } | undefined;
  /** When the next one is due; undefined: never. */
  readonly nextRunAt: Date | undefined;
}

/**
 * Which cycles of a rule run now, of all whose time is over. Pure. `latest`: the last one, if its time is within `catchUpMs`. `all`: those
 * within it, the last hundred at most. `skip`: none that is late. However long nobody was there, it reads a hundred of them.
 */
export function planCycles(
  calendar: Calendar,
  { dueAt, now, misfire, catchUpMs }: { dueAt: Date; now: Date; misfire: Misfire; catchUpMs: number },
): DueCycles {
  const nextRunAt = calendar.next(now);
  const found = calendar.latest(MOST_MISSED + 1, { after: new Date(dueAt.getTime() - 1), upTo: now });
  const missed = found.slice(-MOST_MISSED);
  const window = misfire === 'skip' ? ON_TIME_MS : Math.max(catchUpMs, ON_TIME_MS);
  const inTime = missed.filter((at) => now.getTime() - at.getTime() <= window);
  const runs = misfire === 'all' ? inTime : inTime.slice(-1);
  const skipped = missed.slice(0, missed.length - runs.length);
  const [earliest] = missed;
  const isMore = found.length > missed.length && earliest !== undefined;
  return { runs, skipped, uncounted: isMore ? { from: dueAt, until: earliest } : undefined, nextRunAt };
}
