import { conclude, send, stopped, sweeper } from './campaign-chunks.ts';
import {
  type Chunk,
  DESIGN,
  faults,
  IDLE,
  isFree,
  isOpen,
  name,
  type Rules,
  START,
  type State,
  withCampaign,
  withWorker,
} from './campaign-world.ts';
import { breaks, type Case, holds } from './cases.ts';
import type { Protocol, Step } from './check.ts';
import { put, spend, taken } from './state.ts';

/** campaign-dispatcher: claim, publish, give back what was not confirmed, and take back what nobody answers for. */
function* dispatcher(state: State, rules: Rules): Iterable<Step<State>> {
  const { campaign, claim, queue } = state;
  if (claim?.unconfirmed === false) {
    yield { says: `ticket ${claim.fence} is published`, to: { ...state, claim: null, queue: put(queue, claim.fence) } };
  }
  if (!isFree(state, rules)) return;
  if (claim === null && campaign.status === 'scheduled') {
    const claimed = withCampaign(state, { status: 'sending', stale: false });
    const { fence } = claimed.campaign;
    yield {
      says: `the dispatcher claims the campaign under fence ${fence}`,
      to: { ...claimed, claim: { fence, unconfirmed: false } },
    };
  }
  if (claim?.unconfirmed) {
    const isMine =
      rules.release === 'whatever it is' || (campaign.status === 'sending' && campaign.fence === claim.fence);
    const to = { ...(isMine ? withCampaign(state, { status: 'scheduled' }) : state), claim: null };
    yield { says: isMine ? `the dispatcher gives back claim ${claim.fence}` : `claim ${claim.fence} is gone`, to };
  }
  const isAtWork = claim !== null || queue.length > 0 || state.workers.some(({ doing }) => doing !== 'nothing');
  const isLate = campaign.stale || (campaign.freezes === 0 && !isAtWork);
  if (campaign.status === 'sending' && isLate && !state.chunks.some(({ status }) => status === 'sending')) {
    yield {
      says: 'the reaper takes the campaign back',
      to: withCampaign(state, { status: 'scheduled', stale: false }),
    };
  }
}

/** Two parts of the audience, each with its key. Without a ledger nothing makes the keys of two freezes the same. */
const frozen = (state: State, rules: Rules): State => {
  const freeze = state.campaign.freezes + 1;
  const chunks = [0, 1].map((part): Chunk => {
    const key = rules.freezeBy === 'fence' ? `${part}` : `${freeze}/${part}`;
    return { part, key, status: 'planned', fence: 0, doubt: false };
  });
  return withCampaign({ ...state, chunks: [...state.chunks, ...chunks] }, { freezes: freeze });
};

/** The campaign's ticket: one transaction takes the campaign over by its fence and freezes it, unless that was done before. */
function* freeze(state: State, index: number, rules: Rules): Iterable<Step<State>> {
  const { campaign, queue } = state;
  const doing = state.workers[index]?.doing;
  if (doing === 'read')
    yield { says: `${name(index)} freezes the recipients`, to: withWorker(frozen(state, rules), index, IDLE) };
  if (doing !== 'nothing' || !isFree(state, rules)) return;
  for (const [at, fence] of queue.entries()) {
    const read = { ...state, queue: taken(queue, at) };
    const isGood = campaign.status === 'sending';
    if (rules.freezeBy === 'status' && isGood) {
      yield {
        says: `${name(index)} sees the status "sending"`,
        to: withWorker(read, index, { ...IDLE, doing: 'read' }),
      };
    } else if (isGood && campaign.fence === fence) {
      const to = campaign.freezes === 0 ? frozen(read, rules) : withCampaign(read, {});
      yield {
        says: `${name(index)} takes over by ticket ${fence}${campaign.freezes === 0 ? ' and freezes the recipients' : ''}`,
        to,
      };
    } else yield { says: `${name(index)} drops ticket ${fence}`, to: read };
  }
}

/** People lock the campaign, so that they wait for a chunk that starts at this moment. */
function* person(state: State, rules: Rules): Iterable<Step<State>> {
  const { campaign, left } = state;
  const isOpenCampaign = campaign.status !== 'sent' && campaign.status !== 'cancel' && !campaign.stopRequested;
  if (!isFree(state, rules) || !isOpenCampaign) return;
  if (left.cancels > 0) {
    const to = { ...stopped(state, rules), left: spend(left, 'cancels') };
    yield { says: 'a person cancels the campaign', to };
  }
  if (left.pauses > 0 && campaign.status !== 'paused') {
    const to = { ...withCampaign(state, { status: 'paused' }), left: spend(left, 'pauses') };
    yield { says: 'a person pauses the campaign', to };
  }
}

/** Whoever pauses a campaign lets it go on some time. */
function* resume(state: State, rules: Rules): Iterable<Step<State>> {
  const { campaign } = state;
  if (campaign.status !== 'paused' || !isFree(state, rules)) return;
  if (campaign.stopRequested && rules.resume !== 'stopping') return;
  const to = withCampaign(state, { status: 'scheduled', stopRequested: false, resumes: campaign.resumes + 1 });
  yield { says: 'a person lets the campaign go on', to };
}

/** Whether a chunk of which nothing had left is started by this step. */
const startsOne = (from: State, to: State): boolean =>
  to.chunks.some(
    ({ status }, at) => status === 'sending' && from.chunks[at]?.status === 'planned' && !from.chunks[at].doubt,
  );

const protocol = (rules: Rules): Protocol<State> => ({
  start: START,
  actors: [
    (state) => dispatcher(state, rules),
    ...START.workers.flatMap((_, index) =>
      [freeze, send, conclude].map((part) => (state: State) => part(state, index, rules)),
    ),
    (state) => sweeper(state, rules),
    (state) => resume(state, rules),
  ],
  mayHappen: [faults, (state) => person(state, rules)],
  always: {
    'recipients are frozen once': ({ campaign }) => campaign.freezes <= 1,
    'nobody receives a campaign twice': ({ received }) => received.every((times) => times <= 1),
    'sent means that every chunk has ended': ({ campaign, chunks }) =>
      campaign.status !== 'sent' || !chunks.some(isOpen),
    'cancelled means that every chunk has ended': ({ campaign, chunks }) =>
      campaign.status !== 'cancel' || !chunks.some(isOpen),
    'a cancelled chunk reached nobody': ({ chunks, received }) =>
      chunks.every(({ status, part }) => status !== 'cancelled' || received[part] === 0),
  },
  everyStep: {
    'every move has a new fence': ({ campaign: from }, { campaign: to }) =>
      to.fence > from.fence || (to.fence === from.fence && to.status === from.status),
    'what has ended stays': ({ campaign: from }, { campaign: to }) =>
      (from.status !== 'sent' && from.status !== 'cancel') || to.status === from.status,
    'no chunk starts after a pause or a cancel': (from, to) =>
      (from.campaign.status !== 'paused' && from.campaign.status !== 'cancel') || !startsOne(from, to),
    'a cancel is for good': ({ campaign: from }, { campaign: to }) => !from.stopRequested || to.stopRequested,
    'only a person lets go on what is paused': ({ campaign: from }, { campaign: to }) =>
      from.status !== 'paused' || to.status === 'paused' || to.status === 'cancel' || to.resumes > from.resumes,
  },
  atRest: {
    'every campaign ends': ({ campaign, chunks }) =>
      ['sent', 'cancel'].includes(campaign.status) && !chunks.some(isOpen),
  },
});

export const campaign = protocol(DESIGN);

export const CAMPAIGN: readonly Case[] = [
  holds('campaign', campaign),
  ...['recipients are frozen once', 'nobody receives a campaign twice'].map((property) =>
    breaks('campaign', {
      variant: 'the destination checks the status, not the fence',
      property,
      protocol: protocol({ ...DESIGN, freezeBy: 'status' }),
    }),
  ),
  breaks('campaign', {
    variant: 'the start of a chunk reads the campaign without FOR SHARE',
    property: 'no chunk starts after a pause or a cancel',
    protocol: protocol({ ...DESIGN, read: 'plainly' }),
  }),
  breaks('campaign', {
    variant: 'a lost confirm rolls the campaign back, whatever it is by then',
    property: 'only a person lets go on what is paused',
    protocol: protocol({ ...DESIGN, release: 'whatever it is' }),
  }),
  breaks('campaign', {
    variant: 'a cancel is acknowledged while a chunk is in flight',
    property: 'cancelled means that every chunk has ended',
    protocol: protocol({ ...DESIGN, acknowledge: 'at once' }),
  }),
  breaks('campaign', {
    variant: 'what is cancelled and still in flight can be resumed',
    property: 'a cancel is for good',
    protocol: protocol({ ...DESIGN, resume: 'stopping' }),
  }),
  breaks('campaign', {
    variant: 'the transaction of the last verdict closes the campaign',
    property: 'every campaign ends',
    protocol: protocol({ ...DESIGN, close: 'with the verdict' }),
  }),
];
