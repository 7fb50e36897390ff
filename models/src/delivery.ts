import { breaks, type Case, holds } from './cases.ts';
import type { Protocol, Step } from './check.ts';
import {
  dayOver,
  faults,
  IDLE,
  isAcceptance,
  isInDoubt,
  less,
  line,
  MAX_ATTEMPTS,
  name,
  type Outcome,
  type Sender,
  START,
  type State,
  withSender,
} from './delivery-world.ts';
import { put, replaced } from './state.ts';

/** What is different in a variant. */
interface Rules {
  readonly key: 'of the send' | 'of the attempt';
  /** What an attempt counts as whose answer nobody saw. */
  readonly unanswered: 'in doubt' | 'refused';
  readonly refusal: 'final while nothing is in doubt' | 'final';
}

const DESIGN: Rules = { key: 'of the send', unanswered: 'in doubt', refusal: 'final while nothing is in doubt' };

/** From the ticket to the call: owned by compare-and-set, the attempt written ahead in the same statement. */
function* begin(state: State, index: number, rules: Rules): Iterable<Step<State>> {
  const self = state.senders[index] ?? IDLE;
  const attempt = state.attempts.length;
  if (self.doing === 'nothing' && state.status === 'planned' && attempt < MAX_ATTEMPTS) {
    const ticket: Sender = { ...IDLE, doing: 'has a ticket', fence: state.fence };
    yield { says: `${name(index)} takes a ticket of fence ${state.fence}`, to: withSender(state, index, ticket) };
  } else if (self.doing === 'has a ticket' && (state.status !== 'planned' || state.fence !== self.fence)) {
    yield { says: `${name(index)} drops its stale ticket`, to: withSender(state, index, IDLE) };
  } else if (self.doing === 'has a ticket') {
    const doubt = rules.unanswered === 'in doubt' && state.attempts.some(isInDoubt);
    const owner: Sender = { doing: 'owns the row', fence: state.fence + 1, attempt, doubt, answer: null };
    const started: State = { ...state, status: 'sending', fence: owner.fence, attempts: [...state.attempts, null] };
    const says = `${name(index)} starts attempt ${attempt + 1}`;
    if (state.onTheWay.length === 0) yield { says, to: withSender(started, index, owner) };
    else if (state.left.mishaps > 0) {
      const early = `${says}; the settle wait was too short for the request before`;
      yield { says: early, to: withSender(less(started, 'mishaps'), index, owner) };
    }
  } else if (self.doing === 'owns the row') {
    const calling = {
      ...state,
      onTheWay: put(state.onTheWay, { attempt: self.attempt, key: rules.key === 'of the send' ? 0 : self.attempt }),
    };
    yield { says: `${name(index)} calls LINE`, to: withSender(calling, index, { ...self, doing: 'waits for LINE' }) };
  }
}

/** The verdict: evidence on the attempt whoever owns the row; the row itself under the fence, or when it is proof and nobody owns it. */
function* conclude(state: State, index: number, rules: Rules): Iterable<Step<State>> {
  const self = state.senders[index] ?? IDLE;
  if (self.doing === 'waits for LINE') {
    const timedOut: Sender = { ...self, doing: 'knows the answer', answer: 'ambiguous' };
    if (!state.onTheWay.some(({ attempt }) => attempt === self.attempt)) {
      yield { says: `${name(index)} times out`, to: withSender(state, index, timedOut) };
    } else if (state.left.mishaps > 0) {
      const early = less(state, 'mishaps');
      yield {
        says: `${name(index)} times out, its request is still on its way`,
        to: withSender(early, index, timedOut),
      };
    }
  } else if (self.doing === 'knows the answer' && self.answer !== null) {
    const evidence = { ...state, attempts: replaced(state.attempts, self.attempt, self.answer) };
    const isMine = state.status === 'sending' && state.fence === self.fence;
    const isLateProof = state.status === 'planned' && isAcceptance(self.answer);
    const status = state.attempts.some(isAcceptance) ? 'accepted' : verdict(self.answer, self.doubt, rules);
    const moves = isMine || isLateProof;
    const to = moves ? { ...evidence, status, fence: state.fence + 1 } : evidence;
    const says = `${name(index)} writes "${self.answer}" on attempt ${self.attempt + 1}`;
    yield {
      says: moves ? `${says}: ${status}` : `${says}; the row is not its own any more`,
      to: withSender(to, index, IDLE),
    };
  }
}

function verdict(answer: Outcome, doubt: boolean, rules: Rules): State['status'] {
  if (isAcceptance(answer)) return 'accepted';
  if (answer === 'refused') return doubt && rules.refusal !== 'final' ? 'planned' : 'refused';
  return answer === 'ambiguous' && rules.unanswered === 'refused' ? 'refused' : 'planned';
}

/** The reaper of leases, and what ends a delivery that nobody may try any more. */
function* sweeper(state: State): Iterable<Step<State>> {
  const hasOwner = state.senders.some(({ doing, fence }) => doing !== 'nothing' && fence === state.fence);
  if (state.status === 'sending' && !hasOwner) {
    yield { says: 'the reaper takes the row back', to: { ...state, status: 'planned', fence: state.fence + 1 } };
  }
  if (state.status === 'planned' && state.attempts.length === MAX_ATTEMPTS) yield dayOver(state);
}

const protocol = (rules: Rules): Protocol<State> => ({
  start: START,
  actors: [
    ...START.senders.flatMap((_, index) =>
      [begin, conclude].map((part) => (state: State) => part(state, index, rules)),
    ),
    line,
    sweeper,
  ],
  mayHappen: [faults],
  always: {
    'a person receives it at most once': ({ received }) => received <= 1,
    'accepted was received': ({ status, received }) => status !== 'accepted' || received > 0,
    'refused was never received': ({ status, received }) => status !== 'refused' || received === 0,
    'expired was never received': ({ status, received }) => status !== 'expired' || received === 0,
  },
  everyStep: {
    'every move has a new fence': (from, to) =>
      to.fence > from.fence || (to.fence === from.fence && to.status === from.status),
    'unknown only when in doubt': (from, to) =>
      to.status === from.status || to.status !== 'unknown' || from.attempts.some(isInDoubt),
    'what is proven accepted never ends otherwise': (from, to) =>
      to.status === from.status ||
      ['planned', 'sending', 'accepted'].includes(to.status) ||
      !from.attempts.some(isAcceptance),
    'what has ended stays': (from, to) => ['planned', 'sending'].includes(from.status) || to.status === from.status,
  },
  atRest: {
    'every delivery ends': ({ status }) => status !== 'planned' && status !== 'sending',
  },
});

export const delivery = protocol(DESIGN);

export const DELIVERY: readonly Case[] = [
  holds('delivery', delivery),
  breaks('delivery', {
    variant: 'the retry key has the attempt number in it',
    property: 'a person receives it at most once',
    protocol: protocol({ ...DESIGN, key: 'of the attempt' }),
  }),
  breaks('delivery', {
    variant: 'an attempt without an answer counts as refused',
    property: 'refused was never received',
    protocol: protocol({ ...DESIGN, unanswered: 'refused' }),
  }),
  breaks('delivery', {
    variant: 'a refusal after an attempt in doubt is final',
    property: 'refused was never received',
    protocol: protocol({ ...DESIGN, refusal: 'final' }),
  }),
];
