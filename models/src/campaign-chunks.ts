import {
  backInDoubt,
  IDLE,
  isFree,
  isOpen,
  isOwned,
  lineAccepts,
  name,
  type Rules,
  type State,
  type Worker,
  withCampaign,
  withChunk,
  withWorker,
} from './campaign-world.ts';
import type { Step } from './check.ts';

/** A chunk from its start to the call. One in doubt is asked about in spite of a cancel: only so it comes to an end. */
export function* send(state: State, index: number): Iterable<Step<State>> {
  const self = state.workers[index] ?? IDLE;
  const { campaign } = state;
  if (self.doing === 'nothing') {
    for (const [at, { status, fence, doubt }] of state.chunks.entries()) {
      const mayStart = doubt || campaign.status === 'sending';
      if (status !== 'planned' || !mayStart || isOwned(state, at)) continue; // a locked row is waited for
      const starting: Worker = { doing: 'starting', chunk: at, fence, sawLast: false };
      yield {
        says: `${name(index)} locks chunk ${at + 1} and reads the campaign: ${campaign.status}`,
        to: withWorker(state, index, starting),
      };
    }
  } else if (self.doing === 'starting') {
    const started = withChunk(state, self.chunk, { status: 'sending' });
    yield {
      says: `${name(index)} commits the start of chunk ${self.chunk + 1}`,
      to: withWorker(started, index, { ...self, doing: 'owns', fence: self.fence + 1 }),
    };
  } else if (self.doing === 'owns') {
    const chunk = state.chunks[self.chunk];
    const accepted = chunk === undefined ? state : lineAccepts(state, chunk);
    yield {
      says: `LINE accepts chunk ${self.chunk + 1} of ${name(index)}`,
      to: withWorker(accepted, index, { ...self, doing: 'accepted' }),
    };
  }
}

/** The verdict on a chunk, under its fence; it is the campaign's heartbeat too. */
export function* conclude(state: State, index: number, rules: Rules): Iterable<Step<State>> {
  const self = state.workers[index] ?? IDLE;
  const chunk = state.chunks[self.chunk];
  const isMine = chunk?.status === 'sending' && chunk.fence === self.fence;
  if (self.doing === 'in doubt') {
    const to = isMine ? backInDoubt(state, self.chunk) : state;
    yield { says: `${name(index)} writes that chunk ${self.chunk + 1} is in doubt`, to: withWorker(to, index, IDLE) };
  } else if (self.doing === 'accepted' && rules.close === 'with the verdict') {
    const sawLast = !state.chunks.some((other, at) => at !== self.chunk && isOpen(other));
    const says = `${name(index)} writes its verdict and sees ${sawLast ? 'no open chunk' : 'another chunk open'}`;
    yield { says, to: withWorker(state, index, { ...self, doing: 'ending', sawLast }) };
  } else if (self.doing === 'accepted' || self.doing === 'ending') {
    const ended = isMine ? withChunk(state, self.chunk, { status: 'accepted' }) : state;
    const beaten = isFree(state, rules) ? { ...ended, campaign: { ...ended.campaign, stale: false } } : ended;
    const to = self.sawLast ? withCampaign(beaten, { status: 'sent' }) : beaten;
    yield { says: `${name(index)} commits the verdict on chunk ${self.chunk + 1}`, to: withWorker(to, index, IDLE) };
  }
}

/** What is at LINE, or may have arrived. */
const isWaitedFor = ({ status, doubt }: State['chunks'][number]): boolean =>
  status === 'sending' || (status === 'planned' && doubt);

/** What nothing has left of is cancelled; when nothing is waited for, the campaign too. Else it is paused, and stopping. */
export function stopped(state: State, rules: Rules): State {
  const chunks = state.chunks.map((chunk) =>
    chunk.status === 'planned' && !chunk.doubt
      ? { ...chunk, status: 'cancelled' as const, fence: chunk.fence + 1 }
      : chunk,
  );
  const waits = rules.acknowledge === 'afterwards' && chunks.some(isWaitedFor);
  return withCampaign({ ...state, chunks }, { stopRequested: true, status: waits ? 'paused' : 'cancel' });
}

/** What is done at intervals: `sent`, the end of a cancel, and chunks of dead workers. */
export function* sweeper(state: State, rules: Rules): Iterable<Step<State>> {
  const { campaign, chunks } = state;
  const canEnd = isFree(state, rules);
  const isStopping = campaign.stopRequested && campaign.status === 'paused';
  const isOver = !chunks.some(isWaitedFor);
  const isToStop = isOver || chunks.some(({ status, doubt }) => status === 'planned' && !doubt);
  if (canEnd && isStopping && isToStop) {
    const says = isOver ? 'nothing is in flight: the campaign is cancelled' : 'what came back clean is cancelled';
    yield { says, to: stopped(state, rules) };
  }
  if (
    canEnd &&
    rules.close === 'afterwards' &&
    campaign.status === 'sending' &&
    campaign.freezes > 0 &&
    !chunks.some(isOpen)
  ) {
    yield { says: 'no chunk is open: the campaign is sent', to: withCampaign(state, { status: 'sent' }) };
  }
  for (const [at, { status }] of chunks.entries()) {
    if (status === 'sending' && !isOwned(state, at))
      yield { says: `the reaper takes chunk ${at + 1} back`, to: backInDoubt(state, at) };
  }
}
