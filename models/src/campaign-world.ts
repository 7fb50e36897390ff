import type { Step } from './check.ts';
import { put, replaced, spend, taken } from './state.ts';

/** How much may happen in one history of one campaign of two chunks, with one dispatcher and two line-delivery processes. */
const BOUNDS = {
  /** Of any kind and in any mix: crashes, lost and doubled tickets, lost confirms and answers, missed heartbeats, leases that run out early. */
  mishaps: 2,
  cancels: 1,
  pauses: 1,
};

/** What is different in a variant. */
export interface Rules {
  /** Who may freeze: the owner of the ticket's fence, once; or whoever sees that the campaign is sending. */
  readonly freezeBy: 'fence' | 'status';
  /** How the start of a chunk reads the campaign. FOR SHARE makes those who would change it wait for the commit. */
  readonly read: 'for share' | 'plainly';
  /** When the campaign is closed: by a statement of its own, or by the transaction of the last verdict. */
  readonly close: 'afterwards' | 'with the verdict';
  /** What a claim whose ticket was not confirmed may give back: what it owns; or the campaign, whatever it is by then. */
  readonly release: 'fence' | 'whatever it is';
  /** What may go on again: what was paused; or what was cancelled while something was in flight, too. */
  readonly resume: 'paused' | 'stopping';
  /** When a cancel is over: when nothing is in flight or in doubt any more; or at once. */
  readonly acknowledge: 'afterwards' | 'at once';
}

export const DESIGN: Rules = {
  ...{ freezeBy: 'fence', read: 'for share', close: 'afterwards' },
  ...{ release: 'fence', resume: 'paused', acknowledge: 'afterwards' },
};

export interface Campaign {
  readonly status: 'scheduled' | 'sending' | 'paused' | 'sent' | 'cancel';
  readonly fence: number;
  /** How often its recipients were frozen into chunks. */
  readonly freezes: number;
  /** A person cancelled it. While something is in flight or in doubt it is `paused` all the same. */
  readonly stopRequested: boolean;
  /** How often a person let it go on. */
  readonly resumes: number;
  /** claimed_at is more than 15 minutes ago. */
  readonly stale: boolean;
}

/** A chunk and its delivery row. Any worker may start it while it is planned: its tickets are announced again and again. */
export interface Chunk {
  /** Which part of the audience. */
  readonly part: number;
  readonly key: string;
  readonly status: 'planned' | 'sending' | 'accepted' | 'cancelled';
  readonly fence: number;
  /** Whether LINE may have accepted it already. */
  readonly doubt: boolean;
}

/** A process of line-delivery. `read`: has looked at the campaign's status; `starting`, `ending`: in an open transaction. */
export interface Worker {
  readonly doing: 'nothing' | 'read' | 'starting' | 'owns' | 'accepted' | 'ending' | 'in doubt';
  readonly chunk: number;
  readonly fence: number;
  /** What it saw when its verdict was written: no other chunk was open. */
  readonly sawLast: boolean;
}

export interface State {
  readonly campaign: Campaign;
  /** What the dispatcher has claimed and not dealt with. */
  readonly claim: { readonly fence: number; readonly unconfirmed: boolean } | null;
  /** Fences of the campaign's tickets in the queue. */
  readonly queue: readonly number[];
  readonly chunks: readonly Chunk[];
  readonly workers: readonly Worker[];
  /** Keys that LINE has accepted, and how often each part of the audience got the campaign. */
  readonly keys: readonly string[];
  readonly received: readonly number[];
  readonly left: typeof BOUNDS;
}

export const IDLE: Worker = { doing: 'nothing', chunk: -1, fence: 0, sawLast: false };
export const START: State = {
  campaign: { status: 'scheduled', fence: 0, freezes: 0, stopRequested: false, resumes: 0, stale: false },
  ...{ claim: null, queue: [], chunks: [], workers: [IDLE, IDLE], keys: [], received: [0, 0], left: BOUNDS },
};

/** Whether the campaign's row can be changed: nobody has it FOR SHARE. */
export const isFree = ({ workers }: State, rules: Rules): boolean =>
  rules.read === 'plainly' || !workers.some(({ doing }) => doing === 'starting');

export const name = (index: number): string => `worker ${index + 1}`;
export const isOpen = ({ status }: Chunk): boolean => status === 'planned' || status === 'sending';
export const isOwned = (state: State, chunk: number): boolean =>
  state.workers.some(
    ({ doing, ...its }) => doing !== 'nothing' && its.chunk === chunk && its.fence === state.chunks[chunk]?.fence,
  );

export const withWorker = (state: State, index: number, worker: Worker): State => ({
  ...state,
  workers: replaced(state.workers, index, worker),
});
/** The campaign under a new fence. */
export const withCampaign = (state: State, to: Partial<Campaign>): State => ({
  ...state,
  campaign: { ...state.campaign, fence: state.campaign.fence + 1, ...to },
});
/** A chunk under a new fence. */
export const withChunk = (state: State, at: number, to: Partial<Chunk>): State => {
  const chunk = state.chunks[at];
  return chunk === undefined
    ? state
    : { ...state, chunks: replaced(state.chunks, at, { ...chunk, fence: chunk.fence + 1, ...to }) };
};
/** What a lost owner leaves behind: a chunk that LINE may have accepted. */
export const backInDoubt = (state: State, chunk: number): State =>
  withChunk(state, chunk, { status: 'planned', doubt: true });

/** LINE accepts a key once, and says so again when it is repeated. */
export function lineAccepts(state: State, chunk: Chunk): State {
  if (state.keys.includes(chunk.key)) return state;
  const received = replaced(state.received, chunk.part, (state.received[chunk.part] ?? 0) + 1);
  return { ...state, keys: put(state.keys, chunk.key), received };
}

/** What the broker, processes, LINE's answers and leases may do. */
export function* faults(state: State): Iterable<Step<State>> {
  const { campaign, claim, queue } = state;
  if (state.left.mishaps === 0) return;
  const mishap: State = { ...state, left: spend(state.left, 'mishaps') };
  if (claim !== null) yield { says: 'the dispatcher crashes', to: { ...mishap, claim: null } };
  if (claim?.unconfirmed === false) {
    const lost = { ...mishap, claim: { ...claim, unconfirmed: true } };
    yield { says: `ticket ${claim.fence} does not reach the broker`, to: lost };
    yield {
      says: `ticket ${claim.fence} is published, its confirm is lost`,
      to: { ...lost, queue: put(queue, claim.fence) },
    };
  }
  for (const [at, fence] of queue.entries()) {
    yield { says: `the broker loses ticket ${fence}`, to: { ...mishap, queue: taken(queue, at) } };
    yield { says: `ticket ${fence} is doubled`, to: { ...mishap, queue: put(queue, fence) } };
  }
  if (campaign.status === 'sending' && !campaign.stale) {
    yield { says: '15 minutes pass without a heartbeat', to: { ...mishap, campaign: { ...campaign, stale: true } } };
  }
  for (const [index, self] of state.workers.entries()) {
    const chunk = state.chunks[self.chunk];
    if (self.doing === 'nothing' || chunk === undefined) continue;
    yield { says: `${name(index)} crashes`, to: withWorker(mishap, index, IDLE) };
    if (self.doing === 'owns') {
      const unanswered = withWorker(lineAccepts(mishap, chunk), index, { ...self, doing: 'in doubt' });
      yield { says: `LINE accepts chunk ${self.chunk + 1} of ${name(index)}, the answer is lost`, to: unanswered };
    }
    if (chunk.status === 'sending' && chunk.fence === self.fence) {
      yield { says: `the lease of ${name(index)} runs out while it lives`, to: backInDoubt(mishap, self.chunk) };
    }
  }
}
