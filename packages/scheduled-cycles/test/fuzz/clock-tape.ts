/** Milliseconds of a minute. */
export const MINUTE_MS = 60_000;

/** What the clocks of a zone show, minute by minute, as Intl alone tells it: another implementation than the one under test. */
export interface ClockTape {
  readonly from: number;
  /** For each minute since `from` the reading, as the instant at which a clock in UTC shows it. */
  readonly readings: readonly number[];
}

const formats = new Map<string, Intl.DateTimeFormat>();
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone: zone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
  });
  formats.set(zone, made);
  return made;
}

/** What a clock of the zone shows at an instant. */
export function readingAt(zone: string, at: number): number {
  const [month, day, year, hour, minute, second] = formatOf(zone).format(at).split(/\D+/).map(Number);
  return Date.UTC(Number(year), Number(month) - 1, day, hour, minute, second);
}

/** Reads the clock at each minute of a span. */
export function recordClock(zone: string, { from, until }: { from: number; until: number }): ClockTape {
  const readings: number[] = [];
  for (let at = from; at <= until; at += MINUTE_MS) readings.push(readingAt(zone, at));
  return { from, readings };
}

/** Instants, to the minute, at which the clocks of a zone are moved within a span: looked for every six hours, then halved. */
export function clockChanges(zone: string, { from, until }: { from: number; until: number }): number[] {
  const offset = (at: number) => readingAt(zone, at) - at;
  const step = 360 * MINUTE_MS;
  const changes: number[] = [];
  for (let at = from; at < until; at += step) {
    let [before, after] = [at, at + step];
    if (offset(before) === offset(after)) continue;
    while (after - before > MINUTE_MS) {
      const middle = before + Math.floor((after - before) / 2 / MINUTE_MS) * MINUTE_MS;
      if (offset(middle) === offset(before)) before = middle;
      else after = middle;
    }
    changes.push(after);
  }
  return changes;
}

/** What a pattern asks of a reading, in words of its own instead of the expression's. */
export type Matches = (reading: Date) => boolean;

export interface Policy {
  readonly gap: 'after' | 'skip';
  readonly repeated: 'first' | 'last' | 'both';
}

/** Every instant of the tape at which a cycle begins, found by looking at each minute; the earliest first. */
export function beginningsOn({ from, readings }: ClockTape, matches: Matches, { gap, repeated }: Policy): number[] {
  const found = new Set<number>();
  const shownAt = new Map<number, number[]>();
  for (const [index, reading] of readings.entries()) {
    const at = from + index * MINUTE_MS;
    if (gap === 'after')
      for (const late of leftOut(readings[index - 1], reading, at))
        if (matches(new Date(late.reading))) found.add(late.at);
    if (!matches(new Date(reading))) continue;
    shownAt.set(reading, [...(shownAt.get(reading) ?? []), at]);
  }
  for (const times of shownAt.values()) {
    const chosen = { first: times.slice(0, 1), last: times.slice(-1), both: times }[repeated];
    for (const at of chosen) found.add(at);
  }
  return [...found].sort((left, right) => left - right);
}

/** Readings that the clocks jumped over just before `at`, and when each would have come had they not: later by the jump. */
function* leftOut(before: number | undefined, reading: number, at: number): Iterable<{ reading: number; at: number }> {
  if (before === undefined) return;
  for (let missing = before + MINUTE_MS; missing < reading; missing += MINUTE_MS)
    yield { reading: missing, at: at + (missing - before - MINUTE_MS) };
}
