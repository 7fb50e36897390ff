import { type AttemptOutcome, OUTCOMES } from './export-format.ts';
import type { History } from './history.ts';

export type InvariantId = 'H1' | 'H2' | 'H3' | 'H4' | 'H5' | 'H6' | 'H7' | 'H8' | 'H9' | 'H10' | 'H11' | 'H12';

/** One breach of an invariant, with all that is known of the recipient or the key it concerns. */
export interface Finding {
  readonly invariant: InvariantId;
  readonly channelId: string | null;
  readonly lid: string | null;
  readonly user: string | null;
  /** What is wrong, in plain words. */
  readonly sentence: string;
  /** Every accept that named the recipient, or that was made under the key. */
  readonly accepts: readonly FoundAccept[];
  /** Every attempt that the client exported under these keys. */
  readonly attempts: readonly FoundAttempt[];
  /** Faults that were played on requests with these keys. */
  readonly faultIds: readonly string[];
  /** The seed to run it again with. */
  readonly seed: string | null;
}

export interface FoundAccept {
  readonly seq: number;
  readonly requestId: string;
  readonly retryKey: string | null;
  readonly at: string;
  readonly dropped: boolean;
}

export interface FoundAttempt {
  readonly retryKey: string | null;
  readonly requestId: string | null;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly outcome: AttemptOutcome | null;
}

/** What an invariant says when it is broken: about a pair, a key or an attempt, in numbers of the history. */
interface Breach {
  readonly sentence: string;
  readonly pair?: number;
  readonly key?: number;
  readonly lid?: number;
  readonly channelId?: string | null;
}

export interface BreachBook {
  /** Counts a breach; `tell` is asked only as long as there is room. */
  add(invariant: InvariantId, tell: () => Breach): void;
  readonly counts: ReadonlyMap<InvariantId, number>;
  readonly kept: readonly (Breach & { invariant: InvariantId })[];
}

export function createBreachBook(limit: number): BreachBook {
  const counts = new Map<InvariantId, number>();
  const kept: (Breach & { invariant: InvariantId })[] = [];
  return {
    counts,
    kept,
    add(invariant, tell) {
      const count = (counts.get(invariant) ?? 0) + 1;
      counts.set(invariant, count);
      if (count <= limit) kept.push({ invariant, ...tell() });
    },
  };
}

/** So much of what belongs to one finding is told. */
const MOST_TOLD = 50;

interface Gathered {
  readonly keys: Set<number>;
  readonly lid: number;
  readonly accepts: number[];
  readonly attempts: number[];
  readonly faults: Set<number>;
}

/** Looks up what belongs to the breaches, in one pass over each table however many they are. */
export function explain(history: History, kept: BreachBook['kept'], seed: string | null): Finding[] {
  const gathered = kept.map((breach) => gather(history, breach));
  addAccepts(history, kept, gathered);
  addAttempts(history, gathered);
  addFaults(history, gathered);
  return kept.map((breach, index): Finding => {
    const { lid, accepts, attempts, faults } = gathered[index] ?? gather(history, breach);
    return {
      invariant: breach.invariant,
      channelId: breach.channelId ?? (history.channels.name(history.lids.channelOf(lid)) || null),
      lid: history.lids.name(lid) || null,
      user: breach.pair === undefined ? null : history.users.name(history.pairs.user(breach.pair)),
      sentence: breach.sentence,
      accepts: accepts.map((accept) => acceptOf(history, accept)),
      attempts: attempts.map((attempt) => attemptOf(history, attempt)),
      faultIds: [...faults].map((fault) => history.faults.name(fault)),
      seed,
    };
  });
}

function gather({ pairs, keys }: History, { pair, key = 0, lid }: Breach): Gathered {
  const keyOfPair = pair === undefined ? 0 : pairs.key.get(pair - 1);
  const lidOfPair = pair === undefined ? undefined : pairs.lid(pair);
  return {
    keys: new Set([key, keyOfPair].filter((one) => one !== 0)),
    lid: lid ?? lidOfPair ?? (key === 0 ? 0 : keys.lid.get(key - 1)),
    accepts: [],
    attempts: [],
    faults: new Set(),
  };
}

function addAccepts({ reach, accepts }: History, kept: BreachBook['kept'], gathered: readonly Gathered[]): void {
  const byPair = Map.groupBy(gathered.keys(), (index) => kept[index]?.pair ?? 0);
  for (let index = 0; index < reach.pair.length; index += 1) {
    const accept = reach.accept.get(index);
    for (const wanted of byPair.get(reach.pair.get(index)) ?? []) {
      const one = gathered[wanted];
      if (one === undefined || kept[wanted]?.pair === undefined) continue;
      one.accepts.push(accept);
      const key = accepts.key.get(accept - 1);
      if (key !== 0) one.keys.add(key);
    }
  }
  const byKey = indexByKey(gathered);
  for (let accept = 1; accept <= accepts.at.length; accept += 1) {
    for (const one of byKey.get(accepts.key.get(accept - 1)) ?? []) {
      if (!one.accepts.includes(accept) && one.accepts.length < MOST_TOLD) one.accepts.push(accept);
    }
  }
}

function addAttempts({ attempts }: History, gathered: readonly Gathered[]): void {
  const byKey = indexByKey(gathered);
  const keyless = gathered.filter((one) => one.keys.size === 0 && one.lid !== 0);
  const byLid = Map.groupBy(keyless, (one) => one.lid);
  for (let attempt = 1; attempt <= attempts.lid.length; attempt += 1) {
    const key = attempts.key.get(attempt - 1);
    const found = [...(byKey.get(key) ?? []), ...(byLid.get(attempts.lid.get(attempt - 1)) ?? [])];
    for (const one of found) if (one.attempts.length < MOST_TOLD) one.attempts.push(attempt);
  }
}

function addFaults({ requests }: History, gathered: readonly Gathered[]): void {
  const byKey = indexByKey(gathered);
  for (let index = 0; index < requests.at.length; index += 1) {
    const fault = requests.fault.get(index);
    if (fault === 0) continue;
    for (const one of byKey.get(requests.key.get(index)) ?? []) one.faults.add(fault);
  }
}

function indexByKey(gathered: readonly Gathered[]): Map<number, Gathered[]> {
  const byKey = new Map<number, Gathered[]>();
  for (const one of gathered) for (const key of one.keys) byKey.set(key, [...(byKey.get(key) ?? []), one]);
  return byKey;
}

const instant = (ms: number) => new Date(ms).toISOString();

function acceptOf({ accepts, requests, keys }: History, accept: number): FoundAccept {
  const key = accepts.key.get(accept - 1);
  return {
    seq: accept,
    requestId: requests.ids.name(accepts.request.get(accept - 1)),
    retryKey: key === 0 ? null : keys.name(key),
    at: instant(accepts.at.get(accept - 1)),
    dropped: accepts.dropped.get(accept - 1) === 1,
  };
}

function attemptOf({ attempts, requests, keys }: History, attempt: number): FoundAttempt {
  const index = attempt - 1;
  const key = attempts.key.get(index);
  const request = attempts.request.get(index);
  const finishedAt = attempts.finishedAt.get(index);
  return {
    retryKey: key === 0 ? null : keys.name(key),
    requestId: request === 0 ? null : requests.ids.name(request),
    startedAt: instant(attempts.startedAt.get(index)),
    finishedAt: finishedAt === 0 ? null : instant(finishedAt),
    outcome: OUTCOMES[attempts.outcome.get(index) - 1] ?? null,
  };
}
