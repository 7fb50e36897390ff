import { breaks, type Case, holds } from './cases.ts';
import type { Protocol, Step } from './check.ts';
import {
  faults,
  IDLE,
  isFree,
  moved,
  name,
  person,
  type Row,
  reaper,
  START,
  type State,
  type Worker,
  withWorker,
  workerFaults,
} from './dispatch-world.ts';
import { isUnique, put, taken } from './state.ts';

const RETRIES = 1; // maxRetries of the product is 3

/** What is different in a variant. Fence and lock each keep a decision from being made twice; the design has both. */
interface Rules {
  /** What makes a ticket good: that the row is at the ticket's fence, or only that somebody has claimed it. */
  readonly goodBy: 'fence' | 'status';
  /** Whether a decision locks its row from the first look to the commit. */
  readonly locks: boolean;
  /** `by fence`: a ticket that was not confirmed gives back its own claim only. */
  readonly release: 'by fence' | 'whatever the row is';
  /** `with the effect`: one transaction. `after the effect`: the effect is committed first. */
  readonly done: 'with the effect' | 'after the effect';
}

const DESIGN: Rules = { goodBy: 'fence', locks: true, release: 'by fence', done: 'with the effect' };

/** cron-scheduler, the queue profile: claim, publish, and give back what was not confirmed. */
function* cronScheduler(state: State, rules: Rules): Iterable<Step<State>> {
  const { row, claim } = state;
  if (claim === null) {
    if (row.status !== 'pending' || !isFree(state)) return;
    const claimed = moved(row, { status: 'processing' });
    yield {
      says: `cron-scheduler claims the action under fence ${claimed.fence}`,
      to: { ...state, row: claimed, claim: { fence: claimed.fence, unconfirmed: false } },
    };
  } else if (!claim.unconfirmed) {
    const to = { ...state, claim: null, queue: put(state.queue, claim.fence) };
    yield { says: `ticket ${claim.fence} is published`, to };
  } else if (isFree(state)) {
    const isMine =
      rules.release === 'whatever the row is' || (row.status === 'processing' && row.fence === claim.fence);
    yield {
      says: isMine ? `cron-scheduler gives back claim ${claim.fence}` : `claim ${claim.fence} is not there any more`,
      to: { ...state, claim: null, row: isMine ? moved(row, { status: 'pending' }) : row },
    };
  }
}

const fits = ({ row }: State, fence: number, rules: Rules): boolean =>
  row.status === 'processing' && (rules.goodBy === 'status' || row.fence === fence);

/** Opens the transaction that decides; with `locks` nobody else changes the row before its end. */
function hold(
  state: State,
  index: number,
  { by, rules }: { by: Pick<Worker, 'fence' | 'ticket'>; rules: Rules },
): State {
  const deciding: Worker = { doing: 'deciding', fence: by.fence, gen: state.row.gen, ticket: by.ticket };
  const row = rules.locks ? { ...state.row, lockedBy: index } : state.row;
  return withWorker({ ...state, row }, index, deciding);
}

/** trigger-worker, the queue profile: takes a ticket and holds its row, or drops the ticket. */
function* takeTicket(state: State, index: number, rules: Rules): Iterable<Step<State>> {
  if (state.workers[index]?.doing !== 'nothing' || !isFree(state)) return; // a locked row is waited for
  for (const [at, fence] of state.queue.entries()) {
    const read = { ...state, queue: taken(state.queue, at) };
    yield fits(state, fence, rules)
      ? {
          says: `${name(index)} holds the row by ticket ${fence}`,
          to: hold(read, index, { by: { fence, ticket: true }, rules }),
        }
      : { says: `${name(index)} drops ticket ${fence}`, to: read };
  }
}

/** trigger-worker, the inline profile: claims and decides in one transaction; when that threw, claims first and then decides. */
function* claimInline(state: State, index: number, rules: Rules): Iterable<Step<State>> {
  const self = state.workers[index] ?? IDLE;
  const { row } = state;
  const mine: Worker = { doing: 'inline', fence: row.fence + 1, gen: row.gen, ticket: false };
  if (self.doing === 'inline') {
    const claimed = { ...row, fence: row.fence + 1 };
    const done = decide(state, claimed, self.gen);
    yield { says: `${name(index)} commits claim and decision in one`, to: withWorker(done, index, IDLE) };
    const failed = { ...state, row: moved(claimed, { status: 'failed' }) };
    yield { says: `${name(index)} commits that it cannot be done`, to: withWorker(failed, index, IDLE) };
  }
  if (!isFree(state)) return;
  if (self.doing === 'nothing' && row.status === 'pending') {
    const locked = { ...state, row: { ...row, lockedBy: index } };
    yield { says: `${name(index)} claims inline`, to: withWorker(locked, index, mine) };
  }
  if (self.doing === 'spoiled' && row.status === 'pending') {
    const claimed = { ...state, row: moved(row, { status: 'processing' }) };
    yield { says: `${name(index)} claims for itself`, to: withWorker(claimed, index, { ...mine, doing: 'alone' }) };
  } else if (self.doing === 'alone' && fits(state, self.fence, rules)) {
    yield { says: `${name(index)} holds its row`, to: hold(state, index, { by: self, rules }) };
  } else if (self.doing === 'spoiled' || self.doing === 'alone') {
    yield { says: `${name(index)} finds its row gone`, to: withWorker(state, index, IDLE) };
  }
}

/** What the commit of a decision writes, whole or not at all. */
const decide = (state: State, row: Row, gen: number): State => ({
  ...state,
  row: moved(row, { status: 'done' }),
  deliveries: [...state.deliveries, gen],
  dones: [...state.dones, row.gen],
});

/** From the open transaction to the ack. */
function* conclude(state: State, index: number, rules: Rules): Iterable<Step<State>> {
  const self = state.workers[index] ?? IDLE;
  const { row } = state;
  const then = (next: State, doing: Worker['doing']) => withWorker(next, index, { ...self, doing });
  const isMine = fits(state, self.fence, rules) && (isFree(state) || row.lockedBy === index);
  if (self.doing === 'deciding' && rules.done === 'after the effect') {
    yield {
      says: `${name(index)} makes the delivery`,
      to: then({ ...state, deliveries: [...state.deliveries, self.gen] }, 'sent'),
    };
  } else if (self.doing === 'deciding') {
    const to = isMine ? decide(state, row, self.gen) : state;
    yield {
      says: `${name(index)} commits ${isMine ? 'done and delivery in one' : 'nothing, the row moved on'}`,
      to: then(to, 'decided'),
    };
  } else if (self.doing === 'sent') {
    const to = isMine ? { ...state, row: moved(row, { status: 'done' }), dones: [...state.dones, row.gen] } : state;
    yield { says: `${name(index)} marks the row done`, to: then(to, 'decided') };
  } else if (self.doing === 'threw' && isFree(state)) {
    const again: Partial<Row> =
      row.retries < RETRIES ? { status: 'pending', retries: row.retries + 1 } : { status: 'failed' };
    yield {
      says: `${name(index)} records the failure`,
      to: then(isMine ? { ...state, row: moved(row, again) } : state, 'decided'),
    };
  } else if (self.doing === 'decided') {
    yield { says: `${name(index)} acks`, to: withWorker(state, index, IDLE) };
  }
}

const protocol = (rules: Rules): Protocol<State> => ({
  start: START,
  actors: [
    (state) => cronScheduler(state, rules),
    ...START.workers.flatMap((_, index) =>
      [takeTicket, claimInline, conclude].map((part) => (state: State) => part(state, index, rules)),
    ),
    reaper,
  ],
  mayHappen: [...START.workers.map((_, index) => (state: State) => workerFaults(state, index)), faults, person],
  always: {
    'one delivery per generation': ({ deliveries }) => isUnique(deliveries),
    'done once per generation': ({ dones }) => isUnique(dones),
  },
  everyStep: {
    'every move has a new fence': ({ row: from }, { row: to }) =>
      to.fence > from.fence || (to.fence === from.fence && to.status === from.status && to.gen === from.gen),
    'only a person lets run again what has ended': ({ row: from }, { row: to }) =>
      from.status === 'pending' || from.status === 'processing' || to.status === from.status || to.gen > from.gen,
    'no effect of a generation that was cancelled': (before, after) =>
      after.deliveries.slice(before.deliveries.length).every((gen) => !before.cancels.includes(gen)),
  },
  atRest: {
    'nothing is lost': ({ row, deliveries }) =>
      row.status === 'cancelled' || row.status === 'failed' || (row.status === 'done' && deliveries.includes(row.gen)),
  },
});

export const dispatch = protocol(DESIGN);

export const DISPATCH: readonly Case[] = [
  holds('dispatch', dispatch),
  breaks('dispatch', {
    variant: 'the status is checked, not the fence, and without a lock',
    property: 'no effect of a generation that was cancelled',
    protocol: protocol({ ...DESIGN, goodBy: 'status', locks: false }),
  }),
  breaks('dispatch', {
    variant: 'a lost confirm rolls the row back, whatever it is by then',
    property: 'one delivery per generation',
    protocol: protocol({ ...DESIGN, release: 'whatever the row is' }),
  }),
  breaks('dispatch', {
    variant: 'execute first, mark done afterwards',
    property: 'one delivery per generation',
    protocol: protocol({ ...DESIGN, done: 'after the effect', locks: false }),
  }),
];
