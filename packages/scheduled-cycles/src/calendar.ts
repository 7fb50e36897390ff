import { PermanentError } from '@dueline/kernel';
import { Cron } from 'croner';

/** When cycles begin: a cron expression of five fields, read on the clocks of a zone. */
export interface CalendarSpec {
  readonly cron: string;
  /** An IANA name. */
  readonly timezone: string;
  /** A time that the clocks jump over: later by the jump, or not at all. */
  readonly gap?: 'after' | 'skip' | undefined;
  /** A time that the clocks show twice. */
  readonly repeated?: 'first' | 'last' | 'both' | undefined;
}

/** Instants at which cycles begin. Pure: it reads no clock. */
export interface Calendar {
  /** The first one after an instant; undefined: there is none any more. */
  next(after: Date): Date | undefined;
  /** The last `limit` ones after `after` until `upTo`, that one included, the earliest first. */
  latest(limit: number, between: { after: Date; upTo: Date }): Date[];
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** Times of day that an earlier change of the clocks may have left out: two hours of minutes, and some. */
const MOVED_TIMES = 130;

/**
 * A calendar. Left out, `gap` and `repeated` are as people expect it of cron: what has a time of day runs once on every day, and what runs
 * every so many minutes or hours goes on doing so through a change of the clocks.
 *
 * @throws PermanentError when the expression or the zone is not one, or the expression never comes true.
 */
export function createCalendar({ cron, timezone, gap, repeated }: CalendarSpec): Calendar {
  const pattern = parsePattern(cron);
  const zone = parseZone(timezone);
  const policy = {
    gap: gap ?? (pattern.isFixed ? 'after' : 'skip'),
    repeated: repeated ?? (pattern.isFixed ? 'first' : 'both'),
  };
  const instantsOf = (wall: Date) => toInstants(wall, zone, policy);

  return {
    next(after) {
      let best: Date | undefined;
      let wall = earliestWall(after, zone);
      for (;;) {
        const next = pattern.walls.nextRun(wall);
        if (next === null) return best;
        wall = next;
        const { instants, isPlain } = instantsOf(wall);
        for (const at of instants) if (at > after && (best === undefined || at < best)) best = at;
        // Behind a time that no change of the clocks moves nothing comes earlier than before it.
        if (best !== undefined && isPlain) return best;
      }
    },
    latest(limit, { after, upTo }) {
      const shift = shiftNear(upTo, zone);
      const from = new Date(wallOf(upTo, zone).getTime() + shift + SECOND_MS);
      // a whole day may be left out: as many minutes lie between `upTo` and `from`, and as many before mean nothing
      const most = limit + MOVED_TIMES + (2 * shift) / MINUTE_MS;
      const walls = wallsBack(pattern.walls, { from, downTo: earliestWall(after, zone), most });
      const instants = walls.flatMap((wall) => instantsOf(wall).instants.map((at) => at.getTime()));
      return [...new Set(instants)]
        .filter((at) => at > after.getTime() && at <= upTo.getTime())
        .sort((left, right) => left - right)
        .slice(-limit)
        .map((at) => new Date(at));
    },
  };
}

/** The expression on a clock without zone, whose reading a Date in UTC holds. */
function parsePattern(cron: string): { walls: Cron; isFixed: boolean } {
  let walls: Cron;
  try {
    walls = new Cron(cron, { mode: '5-part', timezone: 'UTC', paused: true });
  } catch (error) {
    throw new PermanentError(`cron "${cron}" is invalid: ${error instanceof Error ? error.message : error}`);
  }
  if (walls.nextRun(new Date(0)) === null) throw new PermanentError(`cron "${cron}" never comes true`);
  const [minute = '*', hour = '*'] = cron.trim().split(/\s+/);
  return { walls, isFixed: cron.trim().startsWith('@') ? cron.trim() !== '@hourly' : !/[*/]/.test(minute + hour) };
}

function parseZone(timezone: string): string {
  try {
    return new Temporal.ZonedDateTime(0n, timezone).timeZoneId;
  } catch {
    throw new PermanentError(`timezone "${timezone}" is not one of the IANA database`);
  }
}

/** Readings before `from` and after `downTo`, the latest ones first and about `most` of them: croner searches back a day at a time, so no more than are asked for. */
function wallsBack(pattern: Cron, { from, downTo, most }: { from: Date; downTo: Date; most: number }): Date[] {
  const walls: Date[] = [];
  for (let before = from, size = 1; ; size = Math.min(4 * size, 64)) {
    const found = pattern.previousRuns(size, before);
    const wanted = found.filter((wall) => wall > downTo);
    walls.push(...wanted);
    const [last] = found.slice(-1);
    if (wanted.length < size || last === undefined || walls.length >= most) return walls;
    before = last;
  }
}

/** What a zone's clock shows at an instant. */
const wallOf = (instant: Date, zone: string): Date => {
  const wall = Temporal.Instant.fromEpochMilliseconds(instant.getTime()).toZonedDateTimeISO(zone).toPlainDateTime();
  return new Date(wall.toZonedDateTime('UTC').epochMilliseconds);
};

/** Before every reading that may mean something later than the instant. */
const earliestWall = (after: Date, zone: string): Date =>
  new Date(wallOf(after, zone).getTime() - shiftNear(after, zone));

/** By how much the clocks are moved near an instant: no further from it than they are moved; 0: not at all. */
function shiftNear(instant: Date, zone: string): number {
  const here = Temporal.Instant.fromEpochMilliseconds(instant.getTime()).toZonedDateTimeISO(zone);
  const transitions = [
    here.add({ nanoseconds: 1 }).getTimeZoneTransition('previous'),
    here.getTimeZoneTransition('next'),
  ];
  const shifts = transitions.flatMap((at) => {
    if (at === null) return [];
    const shift = Math.abs(at.offsetNanoseconds - at.subtract({ nanoseconds: 1 }).offsetNanoseconds) / 1e6;
    return Math.abs(at.epochMilliseconds - here.epochMilliseconds) <= shift ? [shift] : [];
  });
  return Math.max(0, ...shifts);
}

interface Policy {
  readonly gap: 'after' | 'skip';
  readonly repeated: 'first' | 'last' | 'both';
}

/** The instants at which a clock of the zone shows this; `isPlain`: once, as nearly always. */
function toInstants(wall: Date, zone: string, { gap, repeated }: Policy): { instants: Date[]; isPlain: boolean } {
  const reading = Temporal.Instant.fromEpochMilliseconds(wall.getTime()).toZonedDateTimeISO('UTC').toPlainDateTime();
  const first = reading.toZonedDateTime(zone, { disambiguation: 'earlier' });
  const last = reading.toZonedDateTime(zone, { disambiguation: 'later' });
  const dates = (...times: readonly Temporal.ZonedDateTime[]) => times.map((at) => new Date(at.epochMilliseconds));
  if (first.equals(last)) return { instants: dates(first), isPlain: true };
  const isShownTwice = first.toPlainDateTime().equals(reading);
  if (!isShownTwice) return { instants: gap === 'skip' ? [] : dates(last), isPlain: false };
  return {
    instants: repeated === 'both' ? dates(first, last) : dates(repeated === 'first' ? first : last),
    isPlain: false,
  };
}
