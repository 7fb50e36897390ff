import { breaks, type Case, holds } from './cases.ts';
import type { Protocol, Step } from './check.ts';
import {
  type Cycle,
  faults,
  IDLE,
  isOpen,
  moved,
  opened,
  PEOPLE,
  person,
  readAll,
  START,
  type State,
  withCycle,
  withReader,
} from './cycle-world.ts';
import { put, replaced, spend, taken } from './state.ts';

/** What is different in a variant. */
interface Rules {
  /** The schedule moves on in the transaction that writes the cycle; or in one before it, or behind it. */
  readonly opens: 'at once' | 'moves on, then writes' | 'writes, then moves on';
  /** Whether an instant has one row at most. */
  readonly isUnique: boolean;
  /** Whether a cycle that waits is announced only when the earlier ones are over. */
  readonly waitsItsTurn: boolean;
  /** Whether a ticket that was published long ago is published again. */
  readonly announcesAgain: boolean;
  /** What a page asks for before it writes. */
  readonly pageAsks: 'fence' | 'nothing';
  /** Where a page begins: at the cursor of the row, or where its reader left off. */
  readonly pageFrom: 'row' | 'reader';
  /** The cursor moves in the transaction that gives people their actions; or in one before it. */
  readonly page: 'at once' | 'cursor, then people';
  /** What a reader asks for before it gives a cycle up whose pages it cannot read. */
  readonly failureAsks: 'fence' | 'nothing';
  /** When a cycle is over. */
  readonly completes: 'read and nobody waits' | 'nobody waits' | 'read';
}

const DESIGN: Rules = {
  ...{ opens: 'at once', isUnique: true, waitsItsTurn: true, announcesAgain: true, pageAsks: 'fence' },
  ...{ pageFrom: 'row', page: 'at once', failureAsks: 'fence', completes: 'read and nobody waits' },
};

const inserted = (state: State, at: number, { isUnique }: Rules): State =>
  isUnique && state.cycles.some((cycle) => cycle.at === at)
    ? state
    : { ...state, cycles: [...state.cycles, opened(at)] };

/** planSchedules, then openCycles: the row of the schedule is held, so that of any number of schedulers one writes. */
function* opener(state: State, rules: Rules): Iterable<Step<State>> {
  const { opening, next, now } = state;
  if (state.planned === null) return yield { says: 'the rule is planned', to: { ...state, planned: now, next: now } };
  const isLocked = rules.opens === 'at once' || opening === null;
  if (next < now && isLocked && rules.opens === 'at once')
    yield { says: `a scheduler opens cycle ${next + 1}`, to: { ...inserted(state, next, rules), next: next + 1 } };
  else if (next < now && isLocked && rules.opens === 'moves on, then writes')
    yield { says: `a scheduler moves on from ${next + 1}`, to: { ...state, next: next + 1, opening: next } };
  else if (next < now && isLocked)
    yield { says: `a scheduler writes cycle ${next + 1}`, to: { ...inserted(state, next, rules), opening: next } };
  if (opening === null) return;
  const isLate = rules.opens === 'writes, then moves on';
  const to = isLate ? { ...state, next: Math.max(next, opening + 1) } : inserted(state, opening, rules);
  yield { says: `the scheduler ends with ${opening + 1}`, to: { ...to, opening: null } };
}

/** announceCycles: tickets of what nobody reads; a ticket that came to nothing is published again when its time is over. */
function* announcer(state: State, { waitsItsTurn, announcesAgain }: Rules): Iterable<Step<State>> {
  for (const [index, cycle] of state.cycles.entries()) {
    const isFree = cycle.status === 'processing' && !readAll(cycle) && !cycle.paused && !cycle.leased;
    const isEarlierOpen = state.cycles.some(({ at, status }) => at < cycle.at && status === 'processing');
    if (!isFree || (waitsItsTurn && isEarlierOpen)) continue;
    const isOnItsWay = state.queue.some((ticket) => ticket.cycle === index && ticket.fence === cycle.fence);
    if (isOnItsWay || (cycle.announced && !announcesAgain)) continue;
    const ticket = { cycle: index, fence: cycle.fence };
    yield {
      says: `ticket ${cycle.fence} of cycle ${index + 1} is published`,
      to: { ...withCycle(state, index, { announced: true }), queue: put(state.queue, ticket) },
    };
  }
}

/** takeCycle, then readPage until the last one. */
function* reader(state: State, self: 0 | 1, rules: Rules): Iterable<Step<State>> {
  const { ticket } = state.readers[self] ?? IDLE;
  const name = `reader ${self + 1}`;
  if (ticket !== null) return yield* readPage(state, self, rules);
  for (const [at, offered] of state.queue.entries()) {
    const rest = { ...state, queue: taken(state.queue, at) };
    const cycle = state.cycles[offered.cycle];
    const isGood = cycle?.status === 'processing' && cycle.fence === offered.fence && !cycle.paused && !readAll(cycle);
    if (!isGood || cycle === undefined) {
      yield { says: `${name} drops ticket ${offered.fence} of cycle ${offered.cycle + 1}`, to: rest };
      continue;
    }
    const held = { cycle: offered.cycle, fence: cycle.fence + 1 };
    const took = moved(rest, offered.cycle, { leased: true });
    const to = withReader(took, self, { ticket: held, cursor: cycle.cursor, half: false });
    yield { says: `${name} takes cycle ${offered.cycle + 1}`, to };
  }
}

function* readPage(state: State, self: 0 | 1, rules: Rules): Iterable<Step<State>> {
  const mine = state.readers[self] ?? IDLE;
  const index = mine.ticket?.cycle ?? 0;
  const cycle = state.cycles[index];
  if (cycle === undefined) return;
  const name = `reader ${self + 1}`;
  const isMine =
    rules.pageAsks === 'nothing' ||
    (cycle.fence === mine.ticket?.fence && cycle.status === 'processing' && !cycle.paused);
  const at = rules.pageFrom === 'row' && !mine.half ? cycle.cursor : mine.cursor;
  if (!isMine || at >= PEOPLE) {
    yield { says: `${name} is through with cycle ${index + 1}`, to: withReader(state, self, IDLE) };
    return;
  }
  const enqueued = {
    actions: cycle.actions.map((action, who) => (who === at && action === 'none' ? ('pending' as const) : action)),
    total: cycle.total + 1,
  };
  const isHalf = rules.page !== 'at once' && !mine.half;
  const to = isHalf
    ? { cursor: at + 1 }
    : { ...enqueued, cursor: mine.half ? cycle.cursor : at + 1, leased: at + 1 < PEOPLE && cycle.leased };
  const after = withReader(withCycle(state, index, to), self, { ...mine, cursor: isHalf ? at : at + 1, half: isHalf });
  yield {
    says: `${name} ${isHalf ? 'moves the cursor past' : 'serves'} person ${at + 1} of cycle ${index + 1}`,
    to: after,
  };
}

/** countPageFailure, then what it says: later, without this person, or not at all. */
function* failures(state: State, { failureAsks }: Rules): Iterable<Step<State>> {
  if (state.left.mishaps === 0) return;
  const spent = { ...state, left: spend(state.left, 'mishaps') };
  for (const [self, { ticket }] of state.readers.entries()) {
    const cycle = ticket === null ? undefined : state.cycles[ticket.cycle];
    if (ticket === null || cycle === undefined) continue;
    const { status, paused, fence } = cycle;
    const isMine = status === 'processing' && !paused && fence === ticket.fence && !readAll(cycle);
    if (!isMine && failureAsks === 'fence') continue;
    const letGo = withReader(spent, self, IDLE);
    const of = `of cycle ${ticket.cycle + 1}`;
    yield {
      says: `reader ${self + 1} gives up the rest ${of}`,
      to: moved(letGo, ticket.cycle, { status: 'failed', leased: false }),
    };
    if (!isMine) continue;
    yield { says: `a page ${of} is tried later`, to: moved(letGo, ticket.cycle, { announced: false }) };
    const cursor = cycle.cursor + 1;
    const failed = { cursor, total: cycle.total + 1, actions: replaced(cycle.actions, cycle.cursor, 'ended' as const) };
    yield {
      says: `person ${cursor} ${of} is given up`,
      to: withReader(withCycle(spent, ticket.cycle, { ...failed, leased: cursor < PEOPLE && cycle.leased }), self, {
        ...(state.readers[self] ?? IDLE),
        cursor,
      }),
    };
  }
}

/** Whoever decides actions, in whatever order. */
function* decider(state: State): Iterable<Step<State>> {
  for (const [index, { actions }] of state.cycles.entries())
    for (const [who, action] of actions.entries())
      if (isOpen(action))
        yield {
          says: `the action of person ${who + 1} in cycle ${index + 1} ends`,
          to: withCycle(state, index, { actions: replaced(actions, who, 'ended') }),
        };
}

/** countCycles. */
function* counter(state: State, { completes }: Rules): Iterable<Step<State>> {
  for (const [index, cycle] of state.cycles.entries()) {
    const nobodyWaits = !cycle.actions.some(isOpen);
    const isOver = {
      'read and nobody waits': readAll(cycle) && nobodyWaits,
      'nobody waits': cycle.total > 0 && nobodyWaits,
      read: readAll(cycle),
    }[completes];
    if (cycle.status === 'processing' && isOver)
      yield {
        says: `cycle ${index + 1} is completed`,
        to: moved(state, index, { status: 'completed', leased: false }),
      };
  }
}

/** The clock of the database: whoever reads no more keeps a cycle for as long as its lease. */
function* patience(state: State): Iterable<Step<State>> {
  for (const [index, { leased, fence }] of state.cycles.entries()) {
    const isRead = state.readers.some(({ ticket }) => ticket?.cycle === index && ticket.fence === fence);
    if (leased && !isRead)
      yield { says: `the lease of cycle ${index + 1} ends`, to: withCycle(state, index, { leased: false }) };
  }
}

/** A person who paused a cycle resumes it in the end. */
function* resumer(state: State): Iterable<Step<State>> {
  for (const [index, { status, paused }] of state.cycles.entries())
    if (status === 'processing' && paused)
      yield {
        says: `a person resumes cycle ${index + 1}`,
        to: moved(state, index, { paused: false, announced: false }),
      };
}

const ofAll =
  (holds: (cycle: Cycle) => boolean) =>
  ({ cycles }: State) =>
    cycles.every(holds);
const isServed = ({ actions }: Cycle): boolean => actions.every((action) => action === 'ended');
const served = ({ actions }: Cycle): number => actions.filter((action) => action !== 'none').length;

const protocol = (rules: Rules): Protocol<State> => ({
  start: START,
  actors: [
    (state) => opener(state, rules),
    (state) => announcer(state, rules),
    (state) => reader(state, 0, rules),
    (state) => reader(state, 1, rules),
    (state) => decider(state),
    (state) => counter(state, rules),
    patience,
    resumer,
  ],
  mayHappen: [faults, person, (state) => failures(state, rules)],
  always: {
    'an instant has one cycle': ({ cycles }) => new Set(cycles.map(({ at }) => at)).size === cycles.length,
    'a cycle counts whom it has reached': ({ cycles, readers }) =>
      readers.some(({ half }) => half) || cycles.every((cycle) => cycle.total === served(cycle)),
    'who is read before the cursor has an action': ({ cycles, readers }) =>
      readers.some(({ half }) => half) ||
      cycles.every(({ actions, cursor }) => actions.every((action, who) => who >= cursor || action !== 'none')),
    'a completed cycle has served everybody': ofAll((cycle) => cycle.status !== 'completed' || isServed(cycle)),
    'two cycles of a rule are not read at once': ({ cycles }) =>
      cycles.filter(({ status, total }) => status === 'processing' && total > 0).length <= 1,
  },
  everyStep: {
    'a cursor goes ahead': ({ cycles: before }, { cycles: after }) =>
      before.every(({ cursor }, index) => cursor <= (after[index]?.cursor ?? 0)),
    'what is over stays as it is': ({ cycles: before }, { cycles: after }) =>
      before.every(({ status }, index) => status === 'processing' || status === after[index]?.status),
    'a new status has a new fence': ({ cycles: before }, { cycles: after }) =>
      before.every(({ status, fence }, index) => status === after[index]?.status || fence < (after[index]?.fence ?? 0)),
  },
  atRest: {
    'each instant that is over has its cycle': ({ now, planned, cycles }) =>
      Array.from({ length: now }, (_, at) => at).every(
        (at) => planned === null || at < planned || cycles.some((cycle) => cycle.at === at),
      ),
    'each cycle is over': ofAll(({ status }) => status !== 'processing'),
  },
});

export const cycle = protocol(DESIGN);

const broken = (variant: string, property: string, rules: Partial<Rules>): Case =>
  breaks('cycle', { variant, property, protocol: protocol({ ...DESIGN, ...rules }) });

export const CYCLE: readonly Case[] = [
  holds('cycle', cycle),
  broken('the schedule moves on before the cycle is written', 'each instant that is over has its cycle', {
    opens: 'moves on, then writes',
  }),
  broken('the cycle is written before the schedule moves on, by no key', 'an instant has one cycle', {
    ...{ opens: 'writes, then moves on', isUnique: false },
  }),
  broken('a ticket is published once', 'each cycle is over', { announcesAgain: false }),
  broken('a reader goes on from where it was, and asks for no fence', 'a cycle counts whom it has reached', {
    ...{ pageAsks: 'nothing', pageFrom: 'reader' },
  }),
  broken('the cursor moves before people have their actions', 'who is read before the cursor has an action', {
    page: 'cursor, then people',
  }),
  broken('a reader that lost a cycle gives it up', 'what is over stays as it is', { failureAsks: 'nothing' }),
  broken('a cycle is over when nobody waits', 'a completed cycle has served everybody', { completes: 'nobody waits' }),
  broken('a cycle is over when all are read', 'a completed cycle has served everybody', { completes: 'read' }),
  broken('the next cycle does not wait for the one before', 'two cycles of a rule are not read at once', {
    waitsItsTurn: false,
  }),
];
