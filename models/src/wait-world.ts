import type { Step } from './check.ts';
import { replaced, spend } from './state.ts';

/** How much may happen in one history of one wait for either of two facts. */
const BOUNDS = {
  /** Crashes of whoever is at work. */
  mishaps: 3,
  cancels: 1,
};

/** A fact as its table has it: not there, happened within the window (however late it was written), or after the deadline. */
type Fact = 'none' | 'in time' | 'late';

/** Which of the two facts a wait took for its branch, or that there was none. */
type Branch = 0 | 1 | 'expired';

export interface Row {
  readonly status: 'pending' | 'processing' | 'done' | 'cancelled';
  readonly branch: Branch | null;
  readonly fence: number;
  /** Whose open transaction has locked the row. */
  readonly lockedBy: string | null;
}

/** An open transaction: what it has done so far, and which fact it saw. */
export interface Work {
  readonly doing: 'nothing' | 'locked' | 'looked' | 'made' | 'claimed' | 'held' | 'finished';
  readonly saw: 0 | 1 | null;
  /** Whether a fact in time was written when the transaction began to hold the row. */
  readonly knowable: boolean;
}

export interface State {
  /** null until the commit that makes it. */
  readonly row: Row | null;
  readonly isOver: boolean;
  readonly facts: readonly Fact[];
  /** Who holds the lock of the person. */
  readonly person: string | null;
  readonly scheduler: Work;
  /** One for the event of each fact. */
  readonly consumers: readonly Work[];
  readonly worker: Work;
  /** The branches that were acted on, in order. */
  readonly acts: readonly Branch[];
  /** Whether the wait expired although a fact in time was there to be seen. */
  readonly wronged: boolean;
  readonly left: typeof BOUNDS;
}

export const IDLE: Work = { doing: 'nothing', saw: null, knowable: false };

export const START: State = {
  row: null,
  isOver: false,
  facts: ['none', 'none'],
  person: null,
  scheduler: IDLE,
  consumers: [IDLE, IDLE],
  worker: IDLE,
  acts: [],
  wronged: false,
  left: BOUNDS,
};

export const consumerName = (index: number): string => `consumer ${index + 1}`;
export const withConsumer = (state: State, index: number, work: Work): State => ({
  ...state,
  consumers: replaced(state.consumers, index, work),
});
export const moved = (row: Row, to: Partial<Row>): Row => ({ ...row, fence: row.fence + 1, lockedBy: null, ...to });

/** The first fact in time that the tables have; the order of the facts is that of their instants. */
export const firstFact = ({ facts }: State): 0 | 1 | null => {
  const at = facts.indexOf('in time');
  return at === 0 || at === 1 ? at : null;
};

/** A transaction that ends without a commit leaves nothing behind. */
const rolledBack = (state: State, who: string): State => ({
  ...state,
  person: state.person === who ? null : state.person,
  row: state.row?.lockedBy === who ? { ...state.row, lockedBy: null } : state.row,
});

/** A person cancels what has not ended; its branch, if it had taken one, stays. */
export function* person(state: State): Iterable<Step<State>> {
  const { row, left } = state;
  if (row === null || row.lockedBy !== null || left.cancels === 0) return;
  if (row.status !== 'pending' && row.status !== 'processing') return;
  const to = { ...state, row: moved(row, { status: 'cancelled' }), left: spend(left, 'cancels') };
  yield { says: 'a person cancels the wait', to };
}

/** What people do that is a fact, and what the clock and the kernel may do. */
export function* faults(state: State): Iterable<Step<State>> {
  const { facts, isOver, left } = state;
  for (const [at, fact] of facts.entries()) {
    if (fact !== 'none') continue;
    yield { says: `fact ${at + 1}, in time, is written`, to: { ...state, facts: replaced(facts, at, 'in time') } };
    if (isOver)
      yield { says: `fact ${at + 1}, too late, is written`, to: { ...state, facts: replaced(facts, at, 'late') } };
  }
  if (!isOver) yield { says: 'the deadline passes', to: { ...state, isOver: true } };
  if (left.mishaps > 0) yield* crashes({ ...state, left: spend(left, 'mishaps') });
}

function* crashes(state: State): Iterable<Step<State>> {
  const { scheduler, consumers, worker, row } = state;
  if (scheduler.doing === 'locked' || scheduler.doing === 'looked') {
    yield {
      says: 'the scheduler crashes; its event is told again',
      to: { ...rolledBack(state, 'scheduler'), scheduler: IDLE },
    };
  }
  for (const [index, { doing }] of consumers.entries()) {
    if (doing === 'nothing' || doing === 'finished') continue;
    const to = withConsumer(rolledBack(state, consumerName(index)), index, IDLE);
    yield { says: `${consumerName(index)} crashes; its event is told again`, to };
  }
  if (worker.doing === 'nothing' || row === null) return;
  const isMine = row.status === 'processing';
  const taken = isMine ? moved(row, { status: 'pending' }) : row;
  yield {
    says: `the worker crashes${isMine ? '; its row is taken back' : ''}`,
    to: { ...state, row: taken, worker: IDLE },
  };
}
