import type { Step } from './check.ts';
import { replaced, spend, taken } from './state.ts';

/** How much may happen in one history of one rule, two instants of its calendar and two people. */
const BOUNDS = {
  /** Crashes, leases that end under somebody who is slow, lost tickets, pages that cannot be read. */
  mishaps: 2,
  /** What a person does: cancels, or pauses and resumes. */
  acts: 1,
};

/** Two people, each a page of their own. */
export const PEOPLE = 2;
const INSTANTS = 2;

/** An action of the cycle for one person; whether it ended well is all one to the cycle. */
export type Action = 'none' | 'pending' | 'ended';

/** A row of scheduled_trigger_execution. */
export interface Cycle {
  /** The nominal instant: the first of the calendar, or the second. */
  readonly at: number;
  readonly status: 'processing' | 'completed' | 'failed' | 'cancelled';
  readonly fence: number;
  readonly paused: boolean;
  /** Whether somebody's lease is not over. */
  readonly leased: boolean;
  readonly announced: boolean;
  /** How many people were read. */
  readonly cursor: number;
  readonly total: number;
  readonly actions: readonly Action[];
}

interface Ticket {
  readonly cycle: number;
  readonly fence: number;
}

/** A process that reads the people of a cycle. */
export interface Reader {
  readonly ticket: Ticket | null;
  /** Where it believes the cursor is. */
  readonly cursor: number;
  /** Half a page, where a page is two transactions. */
  readonly half: boolean;
}

export interface State {
  /** How many instants of the calendar are over. */
  readonly now: number;
  /** How many were over when the rule was planned; null: it is not. What lies before that is no cycle. */
  readonly planned: number | null;
  /** The first instant whose cycle is not opened. */
  readonly next: number;
  /** What a scheduler has read and not yet written, where opening is two transactions. */
  readonly opening: number | null;
  readonly cycles: readonly Cycle[];
  /** Tickets in the queue. */
  readonly queue: readonly Ticket[];
  readonly readers: readonly Reader[];
  readonly left: typeof BOUNDS;
}

export const IDLE: Reader = { ticket: null, cursor: 0, half: false };

export const START: State = {
  now: 0,
  planned: null,
  next: 0,
  opening: null,
  cycles: [],
  queue: [],
  readers: [IDLE, IDLE],
  left: BOUNDS,
};

export const opened = (at: number): Cycle => ({
  ...{ at, status: 'processing', fence: 0, paused: false, leased: false, announced: false },
  ...{ cursor: 0, total: 0, actions: Array.from({ length: PEOPLE }, () => 'none' as const) },
});

export const withCycle = (state: State, index: number, to: Partial<Cycle>): State => {
  const cycle = state.cycles[index];
  return cycle === undefined ? state : { ...state, cycles: replaced(state.cycles, index, { ...cycle, ...to }) };
};

/** The same under a new fence: whoever has the old one writes nothing any more. */
export const moved = (state: State, index: number, to: Partial<Cycle>): State =>
  withCycle(state, index, { ...to, fence: (state.cycles[index]?.fence ?? 0) + 1 });

export const withReader = (state: State, index: number, reader: Reader): State => ({
  ...state,
  readers: replaced(state.readers, index, reader),
});

export const readAll = ({ cursor }: Cycle): boolean => cursor === PEOPLE;
export const isOpen = (action: Action): boolean => action === 'pending';

/** What a person does to a cycle that is not over. */
export function* person(state: State): Iterable<Step<State>> {
  if (state.left.acts === 0) return;
  const spent = { ...state, left: spend(state.left, 'acts') };
  for (const [index, cycle] of state.cycles.entries()) {
    if (cycle.status !== 'processing') continue;
    const name = `cycle ${index + 1}`;
    yield {
      says: `a person cancels ${name}`,
      to: moved(spent, index, { status: 'cancelled', leased: false, paused: false }),
    };
    if (!cycle.paused && !readAll(cycle))
      yield { says: `a person pauses ${name}`, to: moved(spent, index, { paused: true, leased: false }) };
  }
}

/** Time, and what it and the kernel may do. */
export function* faults(state: State): Iterable<Step<State>> {
  const { now, cycles, queue, readers, left } = state;
  if (now < INSTANTS) yield { says: `instant ${now + 1} comes`, to: { ...state, now: now + 1 } };
  if (left.mishaps === 0) return;
  const spent = { ...state, left: spend(left, 'mishaps') };
  for (const [index, { leased }] of cycles.entries())
    if (leased) yield { says: `the lease of cycle ${index + 1} ends`, to: withCycle(spent, index, { leased: false }) };
  for (const [index, ticket] of queue.entries())
    yield {
      says: `ticket ${ticket.fence} of cycle ${ticket.cycle + 1} is lost`,
      to: { ...spent, queue: taken(queue, index) },
    };
  for (const [index, { ticket }] of readers.entries())
    if (ticket !== null) yield { says: `reader ${index + 1} crashes`, to: withReader(spent, index, IDLE) };
  if (state.opening !== null) yield { says: 'the scheduler crashes', to: { ...spent, opening: null } };
}
