import { createPace } from './pace.ts';

/** A row's place among the rows of its account and lane, which are claimed in this order. */
export interface Place {
  /** execute_at in seconds of the epoch, exact to the microsecond. */
  readonly at: number;
  readonly id: string;
}

/** What a claim took of an account and lane: its first and its last row, and how many. */
export interface Span {
  readonly first: Place;
  readonly last: Place;
  readonly count: number;
}

/** Where a claimer goes on in each account and lane, so that it does not read again what was claimed before. */
export interface Places {
  /** Rows may have become due behind the places. */
  wake(): void;
  /** The transaction of the last claim was rolled back: the next one begins with the rows that it took. */
  rolledBack(): void;
  /** Begins a claim; true: it takes rows however old. */
  begin(): boolean;
  /** The claim came back short; true: it does take rows however old. */
  again(): boolean;
  /** Ends the claim; `isFull`: it got all that it was asked for; `lateSeconds`: {@link lateSeconds}. */
  took(spans: ReadonlyMap<string, Span>, options: { isFull: boolean; lateSeconds: number }): void;
  /** Where the claim begins; null: nothing is known yet. */
  of(account: string): Place | null;
  /** Nothing is known to be due before `place`. */
  raise(account: string, place: Place): void;
  /** Forgets all other accounts. */
  keepOnly(accounts: ReadonlySet<string>): void;
}

/** A row becomes visible when its transaction commits, a moment after it is due. */
const COMMIT_SECONDS = 5;
/**
 * Seconds before the last row that a short claim took, where the next one begins: what was not to be seen yet, and the waits that were in
 * their grace.
 */
export const lateSeconds = (graceSeconds: number): number => graceSeconds + COMMIT_SECONDS;
/** Between two claims that take rows however old, as long as claims are full. */
const PAUSE_MS = 1_000;
/** The same of a woken claimer, in the rhythm to which NOTIFY is gated. */
const WOKEN_PAUSE_MS = 10;
/** Such a claim reads all dead rows that an old snapshot holds: it may take this part of a claimer's time. */
const SHARE = 1 / 10;

/**
 * Claims begin where the last one ended. What appears behind that place (released, rolled back by another claimer, inserted late, moved
 * into the past) is taken by claims that begin at the beginning: after a hint, each second, and before a claimer says that there
 * is nothing; but these may take a tenth of its time, so while a snapshot is held they may be up to ten times apart as they take.
 */
export function createPlaces(clock: () => number): Places {
  const places = new Map<string, Place>();
  const anyAge = createPace(clock);
  let lastSpans: ReadonlyMap<string, Span> = new Map();
  let [isWoken, wasShort, isBounded] = [false, false, false];
  const takesAnyAge = (pauseMs: number) => {
    isBounded = !anyAge.isDue({ pauseMs, share: SHARE });
    if (!isBounded) {
      anyAge.begin();
      isWoken = false;
    }
    return !isBounded;
  };
  return {
    wake: () => {
      isWoken = true;
    },
    rolledBack: () => {
      for (const [account, { first }] of lastSpans) {
        const place = places.get(account);
        if (place !== undefined && isBefore(first, place)) places.set(account, first);
      }
    },
    begin: () => takesAnyAge(wasShort ? 0 : isWoken ? WOKEN_PAUSE_MS : PAUSE_MS),
    again: () => isBounded && takesAnyAge(0),
    took: (spans, { isFull, lateSeconds }) => {
      anyAge.end();
      lastSpans = spans;
      wasShort = !isFull;
      for (const [account, { last }] of spans) {
        const place = isFull ? last : { at: last.at - lateSeconds, id: '0' };
        if (isFull || isBefore(places.get(account) ?? place, place)) places.set(account, place);
      }
    },
    of: (account) => places.get(account) ?? null,
    raise: (account, place) => {
      const known = places.get(account);
      if (known === undefined || isBefore(known, place)) places.set(account, place);
    },
    keepOnly: (accounts) => {
      for (const account of places.keys()) if (!accounts.has(account)) places.delete(account);
    },
  };
}

/** What a claim took of an account, and one row more. */
export function extended(span: Span | undefined, place: Place): Span {
  if (span === undefined) return { first: place, last: place, count: 1 };
  return {
    first: isBefore(place, span.first) ? place : span.first,
    last: isBefore(span.last, place) ? place : span.last,
    count: span.count + 1,
  };
}

/** Whether a row comes before another one: the older one does. */
export function isBefore(left: Place, right: Place): boolean {
  if (left.at !== right.at) return left.at < right.at;
  if (left.id.length !== right.id.length) return left.id.length < right.id.length;
  return left.id < right.id;
}
