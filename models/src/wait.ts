import { breaks, type Case, holds } from './cases.ts';
import type { Protocol, Step } from './check.ts';
import {
  consumerName,
  faults,
  firstFact,
  IDLE,
  moved,
  person,
  type Row,
  START,
  type State,
  type Work,
  withConsumer,
} from './wait-world.ts';

/** What is different in a variant. */
interface Rules {
  /** Who locks the person before it writes and looks. */
  readonly locks: 'both' | 'the consumer only' | 'nobody';
  /** When the scheduler looks for facts older than its row: before its commit, under the lock; or after it, without. Or never. */
  readonly schedulerLooks: 'before the commit' | 'after the commit' | 'never';
  /** Whether the decision looks at the facts itself before it says `expired`. */
  readonly lastLook: boolean;
  /** Whether a fact ends a wait only while nothing has. */
  readonly branchIsSetOnce: boolean;
}

const DESIGN: Rules = { locks: 'both', schedulerLooks: 'before the commit', lastLook: true, branchIsSetOnce: true };

const fresh: Row = { status: 'pending', branch: null, fence: 0, lockedBy: null };

/** scheduleMany: lock the person, insert, look, commit; or, for very many, insert, commit, look. */
function* scheduler(state: State, { locks, schedulerLooks }: Rules): Iterable<Step<State>> {
  const { scheduler: self, person, row } = state;
  const then = (to: Partial<State>, work: Partial<Work>) => ({ ...state, ...to, scheduler: { ...self, ...work } });
  const isLocking = locks === 'both' && schedulerLooks !== 'after the commit';
  if (self.doing === 'nothing' && !isLocking) {
    yield { says: 'the scheduler begins', to: then({}, { doing: 'locked' }) };
  } else if (self.doing === 'nothing' && person === null) {
    yield { says: 'the scheduler locks the person', to: then({ person: 'scheduler' }, { doing: 'locked' }) };
  } else if (self.doing === 'locked') {
    const saw = schedulerLooks === 'before the commit' ? firstFact(state) : null;
    yield { says: `the scheduler inserts and sees ${said(saw)}`, to: then({}, { doing: 'looked', saw }) };
  } else if (self.doing === 'looked') {
    const released = person === 'scheduler' ? null : person;
    const made = self.saw === null ? fresh : moved(fresh, { branch: self.saw });
    const doing = schedulerLooks === 'after the commit' ? 'made' : 'finished';
    yield { says: 'the scheduler commits', to: then({ person: released, row: made }, { doing, saw: null }) };
  } else if (self.doing === 'made' && row !== null && row.lockedBy === null) {
    const saw = firstFact(state);
    const isOpen = row.status === 'pending' && row.branch === null && saw !== null;
    const met = isOpen ? moved(row, { branch: saw }) : row;
    yield {
      says: `the scheduler looks after its commit and sees ${said(saw)}`,
      to: then({ row: met }, { doing: 'finished' }),
    };
  }
}

const said = (fact: 0 | 1 | null): string => (fact === null ? 'nothing' : `fact ${fact + 1}`);

/** The consumer of an event: lock the person, look who waits (checkAndCompleteDelayWait), commit. */
function* consumer(state: State, index: 0 | 1, { locks, branchIsSetOnce }: Rules): Iterable<Step<State>> {
  const self = state.consumers[index] ?? IDLE;
  const { person, row } = state;
  const name = consumerName(index);
  if (self.doing === 'nothing' && state.facts[index] !== 'none' && (locks === 'nobody' || person === null)) {
    const to = locks === 'nobody' ? state : { ...state, person: name };
    yield {
      says: `${name} takes the event of fact ${index + 1}`,
      to: withConsumer(to, index, { ...self, doing: 'locked' }),
    };
  } else if (self.doing === 'locked' && (row === null || row.lockedBy === null)) {
    const isOpen = row?.status === 'pending' && (row.branch === null || !branchIsSetOnce);
    const meets = isOpen && state.facts[index] === 'in time';
    const locked = meets && row !== null ? { ...state, row: { ...row, lockedBy: name } } : state;
    const work: Work = { ...self, doing: 'looked', saw: meets ? index : null };
    yield { says: `${name} finds ${meets ? 'the wait' : 'nobody who waits'}`, to: withConsumer(locked, index, work) };
  } else if (self.doing === 'looked') {
    const met = row !== null && self.saw !== null ? moved(row, { branch: self.saw }) : row;
    const to = { ...state, row: met, person: person === name ? null : person };
    yield { says: `${name} commits`, to: withConsumer(to, index, { ...IDLE, doing: 'finished' }) };
  }
}

/** A claim, then the transaction that decides: hold the row, look once more, commit the branch with what it does. */
function* worker(state: State, { lastLook }: Rules): Iterable<Step<State>> {
  const { worker: self, row, isOver } = state;
  if (row === null) return;
  const then = (to: Partial<State>, work: Partial<Work>) => ({ ...state, ...to, worker: { ...self, ...work } });
  const isFree = row.lockedBy === null;
  if (self.doing === 'nothing' && isFree && row.status === 'pending' && (isOver || row.branch !== null)) {
    yield {
      says: 'the worker claims the row',
      to: then({ row: moved(row, { status: 'processing' }) }, { doing: 'claimed' }),
    };
  } else if (self.doing === 'claimed' && row.status !== 'processing') {
    yield { says: 'the worker finds its row gone', to: { ...state, worker: IDLE } };
  } else if (self.doing === 'claimed' && isFree) {
    const knowable = firstFact(state) !== null;
    yield {
      says: 'the worker holds the row',
      to: then({ row: { ...row, lockedBy: 'worker' } }, { doing: 'held', knowable }),
    };
  } else if (self.doing === 'held') {
    const saw = lastLook ? firstFact(state) : null;
    yield { says: `the worker sees ${said(saw)}`, to: then({}, { doing: 'looked', saw }) };
  } else if (self.doing === 'looked') {
    const branch = row.branch ?? self.saw ?? 'expired';
    const wronged = branch === 'expired' && self.knowable;
    const done = { row: moved(row, { status: 'done', branch }), acts: [...state.acts, branch], wronged };
    yield {
      says: `the worker commits the branch ${branch === 'expired' ? branch : said(branch)}`,
      to: { ...state, ...done, worker: IDLE },
    };
  }
}

const hasEnded = ({ row }: State): boolean => row?.status === 'done' || row?.status === 'cancelled';

const protocol = (rules: Rules): Protocol<State> => ({
  start: START,
  actors: [
    (state) => scheduler(state, rules),
    (state) => consumer(state, 0, rules),
    (state) => consumer(state, 1, rules),
    (state) => worker(state, rules),
  ],
  mayHappen: [faults, person],
  always: {
    'a wait is acted on once': ({ acts }) => acts.length <= 1,
    'it expires only when no fact in time was there': ({ wronged }) => !wronged,
    'what was cancelled does not act': ({ acts, row }) => row?.status !== 'cancelled' || acts.length === 0,
    'what acts is the branch of the row': ({ acts, row }) => acts.every((branch) => branch === row?.branch),
  },
  everyStep: {
    'a wait goes one way': ({ row: from }, { row: to }) =>
      from === null || from.branch === null || from.branch === to?.branch,
    'a new branch has a new fence': ({ row: from }, { row: to }) =>
      from === null || to === null || from.branch === to.branch || to.fence > from.fence,
  },
  atRest: {
    'a fact in time is not left to the deadline': (state) => hasEnded(state) || firstFact(state) === null,
    'no wait stays open after its deadline': (state) => !state.isOver || hasEnded(state),
  },
});

export const wait = protocol(DESIGN);

export const WAIT: readonly Case[] = [
  holds('wait', wait),
  holds('wait, made by the thousand', protocol({ ...DESIGN, schedulerLooks: 'after the commit' })),
  breaks('wait', {
    variant: 'the scheduler looks and inserts in one transaction without the lock',
    property: 'a fact in time is not left to the deadline',
    protocol: protocol({ ...DESIGN, locks: 'the consumer only' }),
  }),
  breaks('wait', {
    variant: 'nobody locks the person',
    property: 'a fact in time is not left to the deadline',
    protocol: protocol({ ...DESIGN, locks: 'nobody' }),
  }),
  breaks('wait', {
    variant: 'the scheduler does not look for older facts',
    property: 'a fact in time is not left to the deadline',
    protocol: protocol({ ...DESIGN, schedulerLooks: 'never' }),
  }),
  breaks('wait', {
    variant: 'the decision trusts the row and does not look again',
    property: 'it expires only when no fact in time was there',
    protocol: protocol({ ...DESIGN, lastLook: false }),
  }),
  breaks('wait', {
    variant: 'a fact sets the branch whether it is set or not',
    property: 'a wait goes one way',
    protocol: protocol({ ...DESIGN, branchIsSetOnce: false }),
  }),
];
