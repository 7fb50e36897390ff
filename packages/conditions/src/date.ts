import type { Moment, Span, Zone } from './language.ts';

/** What a text says about time: a day of the calendar, or an instant. */
export type When =
  | { readonly kind: 'day'; readonly day: Temporal.PlainDate }
  | { readonly kind: 'instant'; readonly at: Temporal.Instant };

/** Now, and whose calendars there are. */
export interface Clock {
  /** RFC 3339. */
  readonly now: string;
  readonly accountZone: string;
  /** Null, or anything that is no zone: the account's counts. */
  readonly userZone: string | null;
}

const ZONE = /^(UTC|[A-Za-z_]+(\/[A-Za-z_-]+)+|Etc\/GMT[+-][0-9]{1,2})$/;
const DAY = /^\d{4}-\d\d-\d\d$/;
const LOCAL = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)$/;
const ABSOLUTE = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)(Z|[+-]\d\d:\d\d)$/;

const knownZones = new Map<string, boolean>();

function isZone(name: string): boolean {
  const before = knownZones.get(name);
  if (before !== undefined) return before;
  if (knownZones.size > 1_000) knownZones.clear(); // what other services write need not be few
  const is = ZONE.test(name) && succeeds(() => Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name));
  knownZones.set(name, is);
  return is;
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

/** The zone that counts; UTC where the account's is none. */
export function zoneOf({ accountZone, userZone }: Clock, zone: Zone = 'user'): string {
  if (zone === 'user' && userZone !== null && isZone(userZone)) return userZone;
  return isZone(accountZone) ? accountZone : 'UTC';
}

/**
 * What a text says about time, as it is read everywhere in the product: a day, a time of the zone's clocks (one that they skip is as much
 * later, one that they show twice the second), or an instant with an offset. Undefined: nothing, or a day or time that there is not.
 */
export function whenOf(text: string, zone: string): When | undefined {
  try {
    if (DAY.test(text)) return { kind: 'day', day: Temporal.PlainDate.from(text) };
    const local = LOCAL.exec(text);
    if (local !== null) {
      const plain = Temporal.PlainDateTime.from(`${local[1]}T${local[2]}`, { overflow: 'reject' });
      return { kind: 'instant', at: plain.toZonedDateTime(zone, { disambiguation: 'later' }).toInstant() };
    }
    const absolute = ABSOLUTE.exec(text);
    if (absolute === null) return undefined;
    return { kind: 'instant', at: Temporal.Instant.from(`${absolute[1]}T${absolute[2]}${absolute[3]}`) };
  } catch {
    return undefined;
  }
}

/** The day on which it is, in the zone. */
export const dayOf = (when: When, zone: string): Temporal.PlainDate =>
  when.kind === 'day' ? when.day : when.at.toZonedDateTimeISO(zone).toPlainDate();

/** Below, at or above zero; by days as soon as one of them is a day, else by instants. */
export function compareWhen(left: When, right: When, zone: string): number {
  if (left.kind === 'instant' && right.kind === 'instant') return Temporal.Instant.compare(left.at, right.at);
  return Temporal.PlainDate.compare(dayOf(left, zone), dayOf(right, zone));
}

/** Now, as many people of one zone are judged by it. */
interface Now {
  readonly at: Temporal.Instant;
  readonly today: Temporal.PlainDate;
  /** What it is shifted to, by how far. */
  readonly shifted: Map<string, Temporal.Instant>;
}

const MAX_KNOWN_NOWS = 500;
const knownNows = new Map<string, Now>();

function nowOf(now: string, zone: string): Now {
  const key = `${now} ${zone}`;
  const before = knownNows.get(key);
  if (before !== undefined) return before;
  if (knownNows.size >= MAX_KNOWN_NOWS) knownNows.clear(); // each transaction has its own
  const at = Temporal.Instant.from(now);
  const made = { at, today: at.toZonedDateTimeISO(zone).toPlainDate(), shifted: new Map() };
  knownNows.set(key, made);
  return made;
}

/** A time by which people are judged, in a zone. */
export interface Today {
  /** RFC 3339. */
  readonly now: string;
  readonly zone: string;
}

/** So long after now (before: sign -1): elapsed time for minutes and hours, else the same time of another day of the zone. */
function shift({ now, zone }: Today, span: Span, sign: 1 | -1): Temporal.Instant {
  const { at, shifted } = nowOf(now, zone);
  const key = `${sign} ${Object.entries(span).join()}`;
  const before = shifted.get(key);
  if (before !== undefined) return before;
  const duration = Temporal.Duration.from({ ...span });
  const made = at
    .toZonedDateTimeISO(zone)
    .add(sign === 1 ? duration : duration.negated())
    .toInstant();
  shifted.set(key, made);
  return made;
}

const isByClock = (span: Span): boolean => span.minutes !== undefined || span.hours !== undefined;

/** The moment that a condition names. One that is told in days or longer is that day; in minutes or hours, that instant. */
export function momentOf(moment: Moment, today: Today): When | undefined {
  if (typeof moment === 'string') return whenOf(moment, today.zone);
  const [span, sign] = 'ago' in moment ? [moment.ago, -1 as const] : [moment.ahead, 1 as const];
  const when: When = { kind: 'instant', at: shift(today, span, sign) };
  return isByClock(span) ? when : { kind: 'day', day: dayOf(when, today.zone) };
}

/** Whether it lies between now and so long before or after, both ends included; a day counts whole. */
export function isWithin(when: When, span: Span, { sign, ...today }: Today & { sign: 1 | -1 }): boolean {
  const start: When = { kind: 'instant', at: nowOf(today.now, today.zone).at };
  const end: When = { kind: 'instant', at: shift(today, span, sign) };
  return sign * compareWhen(when, start, today.zone) >= 0 && sign * compareWhen(when, end, today.zone) <= 0;
}

/** Whether today, in the zone, is the day of the year on which it was, in a later year. Who was born on 29 February has 28 in other years. */
export function isAnniversary(when: When, { now, zone }: Today): boolean {
  const { today } = nowOf(now, zone);
  const then = dayOf(when, zone);
  return today.year > then.year && then.add({ years: today.year - then.year }).equals(today);
}
