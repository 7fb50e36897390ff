import type { Step } from './check.ts';
import { put, replaced, spend, taken } from './state.ts';

/** How much may happen in one history of one delivery, with two line-delivery processes. */
const BOUNDS = {
  /** Of any kind and in any mix: crashes, lost requests and answers, calls given up too early, leases and waits that are too short. */
  mishaps: 3,
  /** Requests that LINE does not serve now (429, 5xx before it took the message). */
  throttles: 1,
  /** The day that ends a delivery, at any moment. */
  days: 1,
};
/** Stands for the 23 hours in which a key may be used: after so many attempts only the day can end the row. */
export const MAX_ATTEMPTS = 3;

export type Outcome = 'accepted' | 'already' | 'refused' | 'throttled' | 'ambiguous';

/** A process of line-delivery. */
export interface Sender {
  readonly doing: 'nothing' | 'has a ticket' | 'owns the row' | 'waits for LINE' | 'knows the answer';
  readonly fence: number;
  readonly attempt: number;
  /** Whether an attempt before this one was in doubt when this one started. */
  readonly doubt: boolean;
  readonly answer: Outcome | null;
}

export interface State {
  readonly status: 'planned' | 'sending' | 'accepted' | 'refused' | 'unknown' | 'expired';
  readonly fence: number;
  /** delivery_attempt: null is written ahead of the call and stays when the process dies. */
  readonly attempts: readonly (Outcome | null)[];
  readonly senders: readonly Sender[];
  /** Requests on their way to LINE. */
  readonly onTheWay: readonly { readonly attempt: number; readonly key: number }[];
  /** Retry keys that LINE has accepted. */
  readonly keys: readonly number[];
  /** How often the person got the message. */
  readonly received: number;
  readonly left: typeof BOUNDS;
}

export const IDLE: Sender = { doing: 'nothing', fence: 0, attempt: 0, doubt: false, answer: null };
export const START: State = {
  ...{ status: 'planned', fence: 0, attempts: [], senders: [IDLE, IDLE] },
  ...{ onTheWay: [], keys: [], received: 0, left: BOUNDS },
};

export const name = (index: number): string => `sender ${index + 1}`;
export const withSender = (state: State, index: number, sender: Sender): State => ({
  ...state,
  senders: replaced(state.senders, index, sender),
});
export const less = (state: State, what: keyof typeof BOUNDS): State => ({ ...state, left: spend(state.left, what) });
export const isAcceptance = (outcome: Outcome | null): boolean => outcome === 'accepted' || outcome === 'already';
export const isInDoubt = (outcome: Outcome | null): boolean => outcome !== 'refused' && outcome !== 'throttled';

/** LINE accepts a key once. It may refuse any request: whether a key is known is looked at last. */
export function* line(state: State): Iterable<Step<State>> {
  for (const [at, { attempt, key }] of state.onTheWay.entries()) {
    const handled = { ...state, onTheWay: taken(state.onTheWay, at) };
    const which = `the request of attempt ${attempt + 1}`;
    if (state.keys.includes(key)) {
      yield* answers(handled, attempt, { says: `LINE knows the key of ${which}`, outcome: 'already' });
    } else {
      const accepted = { ...handled, keys: put(state.keys, key), received: state.received + 1 };
      yield* answers(accepted, attempt, { says: `LINE accepts ${which}`, outcome: 'accepted' });
    }
    yield* answers(handled, attempt, { says: `LINE refuses ${which}`, outcome: 'refused' });
    if (state.left.throttles > 0) {
      yield* answers(less(handled, 'throttles'), attempt, { says: `LINE throttles ${which}`, outcome: 'throttled' });
    }
    if (state.left.mishaps > 0) yield { says: `${which} is lost`, to: less(handled, 'mishaps') };
  }
}

/** The answer reaches the sender that still waits for it, or is lost. */
function* answers(
  state: State,
  attempt: number,
  { says, outcome }: { says: string; outcome: Outcome },
): Iterable<Step<State>> {
  const index = state.senders.findIndex((sender) => sender.doing === 'waits for LINE' && sender.attempt === attempt);
  const sender = state.senders[index];
  if (sender === undefined) {
    yield { says: `${says}; nobody waits for the answer`, to: state };
    return;
  }
  yield { says, to: withSender(state, index, { ...sender, doing: 'knows the answer', answer: outcome }) };
  if (state.left.mishaps > 0) yield { says: `${says}; the answer is lost`, to: less(state, 'mishaps') };
}

/** The end of a day: what is proven ends as accepted, what is in doubt as unknown, what is neither as expired. */
export const dayOver = (state: State): Step<State> => {
  const doubt = state.attempts.some(isInDoubt) ? 'unknown' : 'expired';
  const status = state.attempts.some(isAcceptance) ? 'accepted' : doubt;
  return { says: `the day is over: ${status}`, to: { ...state, status, fence: state.fence + 1 } };
};

/** What processes, leases and the calendar may do. */
export function* faults(state: State): Iterable<Step<State>> {
  for (const [index, { doing, fence }] of state.senders.entries()) {
    if (doing === 'nothing' || state.left.mishaps === 0) continue;
    const mishap = less(state, 'mishaps');
    yield { says: `${name(index)} crashes`, to: withSender(mishap, index, IDLE) };
    if (state.status !== 'sending' || fence !== state.fence) continue;
    const reaped: State = { ...mishap, status: 'planned', fence: fence + 1 };
    yield { says: `the lease of ${name(index)} runs out while it lives; the row is taken back`, to: reaped };
  }
  if (state.left.days > 0 && state.status === 'planned') yield dayOver(less(state, 'days'));
}
