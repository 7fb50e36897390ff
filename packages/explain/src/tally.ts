import type { Verdict } from './judge.ts';
import type { Message } from './playback.ts';

/** What a rule would have done on one day of its account. */
export interface DayOfRun {
  /** `YYYY-MM-DD` by the account's clocks. */
  readonly day: string;
  /** Events that the rule listens to; of a rule that is set off by time, people whom its cycles meet. */
  events: number;
  /** How often it fires: at once, or to wait; of a rule that is set off by time, how often it acts, or may act. */
  fires: number;
  /** Messages that go out because of them, then or later. */
  messages: number;
}

/** A person whom the rule would reach, and when first. */
export interface Sample {
  readonly userId: string;
  /** Null: a cycle sets it off. */
  readonly eventId: string | null;
  /** When the event was decided, or the cycle begins. */
  readonly at: string;
}

/** What a rule would have done with a range of the past. */
export interface RunOfRule {
  /** How many cycles there are; null: events set it off. */
  readonly cycles: number | null;
  readonly events: number;
  readonly fires: number;
  /** People for whom it fires at least once. */
  readonly people: number;
  readonly messages: { readonly [Became in Message]: number };
  readonly days: readonly Readonly<DayOfRun>[];
  /** What is decided and why, as history names it, the most frequent first; of what waits for a cycle's time, what is decided last. */
  readonly outcomes: readonly { readonly decision: string; readonly reasonCode: string; readonly count: number }[];
  readonly sample: readonly Sample[];
}

/** Counts as the past is played again. */
export interface Tally {
  /** An event that the rule listens to, and what is decided of it. */
  count(day: string, verdict: Verdict, sample: Sample): void;
  message(day: string, became: Message): void;
  /** The person is over; says whether the rule fired for them, and when first. */
  endPerson(): Sample | undefined;
  result(): RunOfRule;
}

const MAX_SAMPLES = 10;
const FIRES: ReadonlySet<string> = new Set(['fired', 'scheduled']);

/** @param cycles How many set the rule off; null: events do. */
export function createTally(cycles: number | null = null): Tally {
  const days = new Map<string, DayOfRun>();
  const outcomes = new Map<string, { decision: string; reasonCode: string; count: number }>();
  const messages = { sent: 0, shifted: 0, capped: 0, dropped: 0, perhaps: 0 };
  const samples: Sample[] = [];
  let people = 0;
  let current: Sample | undefined;
  const dayOf = (day: string): DayOfRun => {
    const known = days.get(day) ?? { day, events: 0, fires: 0, messages: 0 };
    days.set(day, known);
    return known;
  };
  return {
    count: (day, { decision, reasonCode }, sample) => {
      const of = dayOf(day);
      of.events += 1;
      const key = `${decision}: ${reasonCode}`;
      const outcome = outcomes.get(key) ?? { decision, reasonCode, count: 0 };
      outcome.count += 1;
      outcomes.set(key, outcome);
      if (!FIRES.has(decision)) return;
      of.fires += 1;
      current ??= sample;
    },
    message: (day, became) => {
      messages[became] += 1;
      if (became === 'sent' || became === 'shifted') dayOf(day).messages += 1;
    },
    endPerson: () => {
      const ended = current;
      current = undefined;
      if (ended === undefined) return undefined;
      people += 1;
      if (samples.length < MAX_SAMPLES) samples.push(ended);
      return ended;
    },
    result: () => {
      const all = [...days.values()].toSorted((a, b) => a.day.localeCompare(b.day));
      const sum = (field: 'events' | 'fires') => all.reduce((total, day) => total + day[field], 0);
      const kinds = [...outcomes.values()].toSorted((a, b) => b.count - a.count);
      return {
        cycles,
        events: sum('events'),
        fires: sum('fires'),
        people,
        messages,
        days: all,
        outcomes: kinds,
        sample: samples,
      };
    },
  };
}
