import type { Step } from './check.ts';
import { put, replaced, spend, taken } from './state.ts';

/** How much may happen in one history of one action, with one cron-scheduler and two trigger-workers. */
const BOUNDS = {
  /** Of any kind and in any mix: crashes, lost and doubled tickets, lost confirms, leases that run out early, decisions that throw. */
  mishaps: 3,
  cancels: 1,
  revivals: 1,
};

export interface Row {
  readonly status: 'pending' | 'processing' | 'done' | 'failed' | 'cancelled';
  readonly fence: number;
  /** Grows when a person lets a row run again that had ended. */
  readonly gen: number;
  readonly retries: number;
  /** The worker whose open transaction has locked the row. */
  readonly lockedBy: number | null;
}

/** `inline` and `spoiled`, `alone`: the profile without the broker, and its second way when a batch fails. */
export interface Worker {
  readonly doing: 'nothing' | 'inline' | 'spoiled' | 'alone' | 'deciding' | 'sent' | 'threw' | 'decided';
  /** Fence and generation that it works for. */
  readonly fence: number;
  readonly gen: number;
  /** Whether a crash would bring its ticket back: not acked, and not redelivered already. */
  readonly ticket: boolean;
}

export interface State {
  readonly row: Row;
  /** What cron-scheduler has claimed and not dealt with: `unconfirmed` means that the ticket may be in the queue. */
  readonly claim: { readonly fence: number; readonly unconfirmed: boolean } | null;
  /** Fences of the tickets in scheduled_action_fire. */
  readonly queue: readonly number[];
  readonly workers: readonly Worker[];
  /** Generations, in the order in which it happened. No unique key helps here: the fence must be enough. */
  readonly deliveries: readonly number[];
  readonly dones: readonly number[];
  readonly cancels: readonly number[];
  readonly left: typeof BOUNDS;
}

export const IDLE: Worker = { doing: 'nothing', fence: 0, gen: 0, ticket: false };
export const isFree = ({ row }: State): boolean => row.lockedBy === null;
export const moved = (row: Row, to: Partial<Row>): Row => ({ ...row, fence: row.fence + 1, lockedBy: null, ...to });
export const withWorker = (state: State, index: number, worker: Worker): State => ({
  ...state,
  workers: replaced(state.workers, index, worker),
});

export const START: State = {
  row: { status: 'pending', fence: 0, gen: 0, retries: 0, lockedBy: null },
  claim: null,
  queue: [],
  workers: [IDLE, IDLE],
  deliveries: [],
  dones: [],
  cancels: [],
  left: BOUNDS,
};

export const name = (index: number): string => `worker ${index + 1}`;

/** Whether somebody may still come with the row's fence. */
const isExpected = ({ row, claim, queue, workers }: State): boolean =>
  claim?.fence === row.fence ||
  queue.includes(row.fence) ||
  workers.some(({ doing, fence }) => doing !== 'nothing' && fence === row.fence);

const takeBack = (state: State): State => ({ ...state, row: moved(state.row, { status: 'pending' }) });

/** recoverStaleProcessing: the lease of a row that nobody will come for runs out for certain. */
export function* reaper(state: State): Iterable<Step<State>> {
  if (state.row.status === 'processing' && isFree(state) && !isExpected(state)) {
    yield { says: `the reaper takes back fence ${state.row.fence}`, to: takeBack(state) };
  }
}

/** What the broker, the clock and the kernel may do. */
export function* faults(state: State): Iterable<Step<State>> {
  const { row, claim, queue, left } = state;
  const using = (what: keyof typeof BOUNDS): State => ({ ...state, left: spend(left, what) });
  if (claim !== null && left.mishaps > 0)
    yield { says: 'cron-scheduler crashes', to: { ...using('mishaps'), claim: null } };
  if (claim?.unconfirmed === false && left.mishaps > 0) {
    const lost = { ...using('mishaps'), claim: { ...claim, unconfirmed: true } };
    yield { says: `ticket ${claim.fence} does not reach the broker`, to: lost };
    yield {
      says: `ticket ${claim.fence} is published, its confirm is lost`,
      to: { ...lost, queue: put(queue, claim.fence) },
    };
  }
  for (const [at, fence] of queue.entries()) {
    if (left.mishaps > 0)
      yield { says: `the broker loses ticket ${fence}`, to: { ...using('mishaps'), queue: taken(queue, at) } };
    if (left.mishaps > 0)
      yield { says: `ticket ${fence} is doubled`, to: { ...using('mishaps'), queue: put(queue, fence) } };
  }
  if (left.mishaps > 0 && row.status === 'processing' && isFree(state) && isExpected(state)) {
    yield {
      says: `the lease runs out although somebody is slow only; fence ${row.fence} is taken back`,
      to: takeBack(using('mishaps')),
    };
  }
}

/** What may happen to a worker at work: a crash, its ticket redelivered while it lives, a decision that throws. */
export function* workerFaults(state: State, index: number): Iterable<Step<State>> {
  const self = state.workers[index] ?? IDLE;
  if (self.doing === 'nothing') return;
  const { row, queue, left } = state;
  const rolledBack: State = { ...state, row: row.lockedBy === index ? { ...row, lockedBy: null } : row };
  const redelivered = self.ticket ? put(queue, self.fence) : queue;
  if (left.mishaps > 0) {
    const crashed = { ...rolledBack, left: spend(left, 'mishaps'), queue: redelivered };
    yield { says: `${name(index)} crashes`, to: withWorker(crashed, index, IDLE) };
  }
  if (self.ticket && left.mishaps > 0) {
    const doubled = { ...state, left: spend(left, 'mishaps'), queue: redelivered };
    yield {
      says: `ticket ${self.fence} is redelivered while ${name(index)} lives`,
      to: withWorker(doubled, index, { ...self, ticket: false }),
    };
  }
  if ((self.doing === 'inline' || self.doing === 'deciding') && left.mishaps > 0) {
    const threw = { ...rolledBack, left: spend(left, 'mishaps') };
    const next: Worker = { ...self, doing: self.doing === 'inline' ? 'spoiled' : 'threw' };
    yield { says: `the decision of ${name(index)} throws`, to: withWorker(threw, index, next) };
  }
}

/** A person cancels what has not ended, and lets run again what has not been done. */
export function* person(state: State): Iterable<Step<State>> {
  const { row, left } = state;
  if (!isFree(state)) return;
  if ((row.status === 'pending' || row.status === 'processing') && left.cancels > 0) {
    const cancelled = { ...state, row: moved(row, { status: 'cancelled' }), cancels: [...state.cancels, row.gen] };
    yield { says: 'a person cancels the action', to: { ...cancelled, left: spend(left, 'cancels') } };
  }
  if ((row.status === 'cancelled' || row.status === 'failed') && left.revivals > 0) {
    const revived = moved(row, { status: 'pending', gen: row.gen + 1, retries: 0 });
    yield {
      says: `a person schedules it again, generation ${revived.gen}`,
      to: { ...state, row: revived, left: spend(left, 'revivals') },
    };
  }
}
