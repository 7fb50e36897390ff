import { createCalendar } from '../../src/calendar.ts';
import { beginningsOn, MINUTE_MS, readingAt, recordClock } from './clock-tape.ts';
import { PATTERNS, POLICIES, unsaid } from './patterns.ts';

const HOUR_MS = 60 * MINUTE_MS;

/** How much is looked at around one change of the clocks. */
export interface Thoroughness {
  /** Of all pairs of a pattern and a policy, one in so many, beginning with that one. */
  readonly oneIn: number;
  readonly first: number;
  /** For one of them, every second this close to the change, and to where the readings that it moves begin and end. */
  readonly seconds: number;
}

const PAIRS = PATTERNS.flatMap(([cron, matches]) => POLICIES.map((policy) => ({ cron, matches, policy })));
type Pair = (typeof PAIRS)[number];

/** How often a calendar was asked, and what it answered otherwise than the tape of the clock. */
export interface Findings {
  readonly looks: number;
  readonly wrong: readonly string[];
}

/** Compares calendars with the tape of their zone's clock around one of its changes. */
export function fuzzChange(zone: string, change: number, { oneIn, first, seconds }: Thoroughness): Findings {
  const shift = Math.abs(readingAt(zone, change) - readingAt(zone, change - MINUTE_MS) - MINUTE_MS);
  const span = 26 * HOUR_MS + shift;
  const tape = recordClock(zone, { from: change - span, until: change + span });
  const edges = [change - shift, change, change + shift];
  const chosen = PAIRS.filter((_, at) => at % oneIn === first % oneIn);
  const wrong: string[] = [];
  let looks = 0;
  for (const [at, pair] of chosen.entries()) {
    const { ahead, back } = looksOf(zone, pair, beginningsOn(tape, pair.matches, pair.policy ?? unsaid(pair.cron)));
    const near = edges.flatMap((edge) => [-60_001, -1, 0, 1, 900_000].map((by) => edge + by));
    const every = at === first % chosen.length ? edges.flatMap((edge) => secondsAround(edge, seconds)) : [];
    wrong.push(...[...near, ...every].flatMap(ahead), ...near.flatMap(back));
    looks += 2 * near.length + every.length;
  }
  return { looks, wrong };
}

const secondsAround = (edge: number, seconds: number): number[] =>
  Array.from({ length: 2 * seconds + 1 }, (_, n) => edge + (n - seconds) * 1_000);

/** A look ahead from an instant and one back from it, each with what was wrong about it. */
function looksOf(zone: string, { cron, policy }: Pair, beginnings: readonly number[]) {
  const calendar = createCalendar({ cron, timezone: zone, ...policy });
  const last = beginnings.at(-1) ?? 0;
  const compare = (what: string, got: readonly number[], wanted: readonly number[]): string[] =>
    got.join() === wanted.join()
      ? []
      : [`${zone} "${cron}" ${JSON.stringify(policy ?? 'unsaid')} ${what}: ${iso(got)}, not ${iso(wanted)}`];
  return {
    ahead: (instant: number): string[] => {
      const wanted = beginnings.find((at) => at > instant);
      const got = calendar.next(new Date(instant))?.getTime();
      const isBeyond = wanted === undefined && (got === undefined || got > last); // behind the end of the tape
      return isBeyond ? [] : compare(`after ${iso([instant])}`, listed(got), listed(wanted));
    },
    back: (instant: number): string[] => {
      const after = instant - HOUR_MS;
      const got = calendar.latest(3, { after: new Date(after), upTo: new Date(instant) }).map((at) => at.getTime());
      const wanted = beginnings.filter((at) => at > after && at <= instant).slice(-3);
      return compare(`up to ${iso([instant])}`, got, wanted);
    },
  };
}

const listed = (at: number | undefined): number[] => (at === undefined ? [] : [at]);
const iso = (instants: readonly number[]): string =>
  instants.map((at) => new Date(at).toISOString()).join(' ') || 'none';
