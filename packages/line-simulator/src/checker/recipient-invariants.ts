import { type CheckSettings, EVERYONE, type RecipientState, STATES } from './export-format.ts';
import type { BreachBook } from './findings.ts';
import type { History, Stop } from './history.ts';

/** What an invariant reads, and where it writes what it found. */
export interface Check {
  readonly history: History;
  readonly settings: CheckSettings;
  readonly breaches: BreachBook;
}

const HOUR_MS = 3_600_000;
/** A client gives up a doubtful key so long after its first attempt, an hour before LINE forgets it. */
const PROBING_MS = 23 * HOUR_MS;
/** A client has so long to settle its doubts once the faults are over. */
const QUIET_MS = HOUR_MS;
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 404, 410, 413, 415]);

/** H1: no user receives one logical send more than once. */
export function noDouble({ history, breaches }: Check): void {
  forEachPair(history, (pair) => {
    const receipts = history.pairs.receipts.get(pair - 1);
    if (receipts <= 1) return;
    breaches.add('H1', () => ({ pair, sentence: `${whoAndWhat(history, pair)} was received ${receipts} times` }));
  });
}

/** H2: who is `accepted` received it, or LINE could not reach the user, or LINE dropped what it had accepted. */
export function noneLost({ history, breaches }: Check): void {
  const { pairs, dropped } = history;
  forEachPair(history, (pair) => {
    if (stateOf(history, pair) !== 'accepted') return;
    if (pairs.receipts.get(pair - 1) > 0 || pairs.suppressed.get(pair - 1) === 1) return;
    const key = pairs.key.get(pair - 1);
    if (key === 0 ? dropped.lids.has(pairs.lid(pair)) : dropped.keys.has(key)) return;
    breaches.add('H2', () => ({
      pair,
      sentence: `${whoAndWhat(history, pair)} is called accepted, and no accept of LINE named the user`,
    }));
  });
}

/** H3: nobody receives what was not planned for them. */
export function noPhantom({ history, breaches }: Check): void {
  const { pairs } = history;
  const everyone = history.users.find(EVERYONE);
  forEachPair(history, (pair) => {
    if (pairs.receipts.get(pair - 1) === 0 || pairs.planned.get(pair - 1) === 1) return;
    if (pairs.user(pair) === everyone) return;
    const all = everyone === 0 ? 0 : pairs.find(pairs.lid(pair), everyone);
    if (all !== 0 && pairs.planned.get(all - 1) === 1) return;
    breaches.add('H3', () => ({ pair, sentence: `${whoAndWhat(history, pair)} was received and never planned` }));
  });
}

/** H4: who is said to have received nothing received nothing: planned, invalid, skipped, expired, cancelled. */
export function honestRefusal({ history, breaches }: Check): void {
  const { pairs } = history;
  forEachPair(history, (pair) => {
    const state = stateOf(history, pair);
    if (state === undefined || state === 'accepted' || state === 'unknown') return;
    if (pairs.receipts.get(pair - 1) === 0) return;
    breaches.add('H4', () => ({ pair, sentence: `${whoAndWhat(history, pair)} is called ${state}, and was received` }));
  });
}

/** H5: who is `unknown` has a key of which an attempt did end in doubt: by the ledger, for want of an outcome, or since its time was over. */
export function honestDoubt({ history, settings, breaches }: Check): void {
  forEachPair(history, (pair) => {
    if (stateOf(history, pair) !== 'unknown' || isKeyInDoubt(history, settings, history.pairs.key.get(pair - 1)))
      return;
    breaches.add('H5', () => ({
      pair,
      sentence: `${whoAndWhat(history, pair)} is called unknown, and no attempt with its key ended in doubt`,
    }));
  });
}

/**
 * What never reached the ledger, it cannot deny; so an ambiguous attempt without a request of its own stands. So does one that was given up: what
 * LINE writes at that moment it takes for an answer, and the client reads it no more.
 */
function isKeyInDoubt({ keys }: History, { attemptTimeoutMs = Infinity }: CheckSettings, key: number): boolean {
  if (key === 0) return false;
  const index = key - 1;
  if (keys.doubtful.get(index) === 1 || keys.open.get(index) === 1) return true;
  if (keys.ambiguousMs.get(index) >= attemptTimeoutMs) return true;
  return keys.ambiguous.get(index) === 1 && keys.requests.get(index) < keys.attempts.get(index);
}

/** H6: nobody is left `unknown` if LINE was well for an hour while the key could still be asked for. */
export function noNeedlessDoubt({ history, settings, breaches }: Check): void {
  if (settings.faultsEndedAt === undefined) return;
  const quietFrom = Date.parse(settings.faultsEndedAt) + QUIET_MS;
  const { pairs, keys } = history;
  forEachPair(history, (pair) => {
    if (stateOf(history, pair) !== 'unknown') return;
    const key = pairs.key.get(pair - 1);
    const firstAttemptAt = key === 0 ? 0 : keys.firstAttemptAt.get(key - 1);
    if (firstAttemptAt === 0 || quietFrom > firstAttemptAt + PROBING_MS || isStillRefused(history, key)) return;
    breaches.add('H6', () => ({
      pair,
      sentence: `${whoAndWhat(history, pair)} is called unknown, though LINE was well in time to ask again`,
    }));
  });
}

/** Whether LINE, without a fault, refuses this key whenever it is asked. */
function isStillRefused({ keys, requests }: History, key: number): boolean {
  const last = key === 0 ? 0 : keys.lastRequest.get(key - 1);
  return last !== 0 && requests.fault.get(last - 1) === 0 && REFUSALS.has(requests.status.get(last - 1));
}

/** H7: once the faults are over and nothing holds it back, every recipient reaches a final state in time. */
export function termination({ history, settings, breaches }: Check): void {
  if (settings.faultsEndedAt === undefined || settings.endedAt === undefined) return;
  const faultsEndedAt = Date.parse(settings.faultsEndedAt);
  const endedAt = Date.parse(settings.endedAt);
  const { pairs } = history;
  const stopsOf = stopsByPlace(history.stops);
  forEachPair(history, (pair) => {
    if (pairs.planned.get(pair - 1) === 0) return;
    const lid = pairs.lid(pair);
    const resumed = [...stopsOf(lid), ...stopsOf(0, history.lids.channelOf(lid))]
      .filter(({ verb }) => verb === 'pause')
      .map(({ until }) => until);
    const from = Math.max(faultsEndedAt, pairs.dueAt.get(pair - 1), probedUntil(history, settings, pair), ...resumed);
    const deadline = from + settings.settleWithinMs;
    const state = stateOf(history, pair);
    const settledAt = state === 'planned' ? endedAt : pairs.stateAt.get(pair - 1);
    if (state === 'planned' ? settledAt < deadline : settledAt <= deadline) return;
    const words = state === 'planned' ? 'has no final state' : `reached its final state, ${state},`;
    const late = Math.round((settledAt - from) / 1_000);
    breaches.add('H7', () => ({
      pair,
      sentence: `${whoAndWhat(history, pair)} ${words} ${late} s after nothing stood in its way`,
    }));
  });
}

/** A doubt is given up 23 hours after its first attempt, and one that LINE refuses to settle is kept until then. */
function probedUntil(history: History, settings: CheckSettings, pair: number): number {
  const key = history.pairs.key.get(pair - 1);
  if (!isKeyInDoubt(history, settings, key)) return 0;
  if (stateOf(history, pair) !== 'unknown' && !isStillRefused(history, key)) return 0;
  return history.keys.firstAttemptAt.get(key - 1) + PROBING_MS;
}

/** Stops by the logical send they name, or, for `lid` 0, by their channel. */
export function stopsByPlace(stops: readonly Stop[]): (lid: number, channel?: number) => readonly Stop[] {
  const ofLid = Map.groupBy(stops, ({ lid }) => lid);
  const ofChannel = Map.groupBy(ofLid.get(0) ?? [], ({ channel }) => channel);
  return (lid, channel = 0) => (lid === 0 ? ofChannel.get(channel) : ofLid.get(lid)) ?? [];
}

function forEachPair({ pairs }: History, visit: (pair: number) => void): void {
  for (let pair = 1; pair <= pairs.count; pair += 1) visit(pair);
}

/** What the client says; `planned` for who was planned and has no other, undefined for who is none of its recipients. */
function stateOf({ pairs }: History, pair: number): RecipientState | undefined {
  const state = pairs.state.get(pair - 1);
  if (state !== 0) return STATES[state - 1];
  return pairs.planned.get(pair - 1) === 1 ? 'planned' : undefined;
}

function whoAndWhat({ pairs, users, lids }: History, pair: number): string {
  const user = users.name(pairs.user(pair));
  return `${lids.name(pairs.lid(pair))} for ${user === EVERYONE ? 'everyone' : user}`;
}
