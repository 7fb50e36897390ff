import { MAX_MESSAGES_PER_REQUEST } from '@dueline/contracts';
import { type CreatedDelivery, createAlongside, type SendOfAction } from '@dueline/deliveries';
import type { ActionOutcome, AlongsideFinish, Finished, HeldAction } from '@dueline/scheduled-actions';
import { type DecisionOnAction, type LogEntry, recordFinished } from '@dueline/trigger-rules';
import type { Settled, Verdict } from './settle-actions.ts';
import { traceDecision } from './trace.ts';

export type Finish = (outcomes: readonly ActionOutcome[], along?: AlongsideFinish) => Promise<Finished>;

/** What verdicts came to. */
export type Written = Pick<Settled, 'entries' | 'deliveries'> & { readonly moved: readonly Verdict[] };

/**
 * Whether all that follows from a verdict can be said of its row alone: no change of ours, and no more than one message to its person, which is
 * the row's own action.
 */
export function isOfItsRow({ action, request = action.request, words, outcome }: Verdict): boolean {
  if (request !== action.request) return false;
  if (outcome.to !== 'done') return true;
  return (
    request.actionType === 'send_message' && words !== undefined && words.messages.length <= MAX_MESSAGES_PER_REQUEST
  );
}

/** Finishes rows, and writes their history and their deliveries in the same statement. Only for what {@link isOfItsRow}. */
export async function settleAlongside(verdicts: readonly Verdict[], finish: Finish): Promise<Written> {
  if (verdicts.length === 0) return { entries: [], deliveries: [], moved: [] };
  const sends = await Promise.all(verdicts.map(sendOf));
  const finished = await finish(
    verdicts.map(({ outcome }) => outcome),
    { sends: createAlongside(sends), history: recordFinished(verdicts.map(decisionOf)) },
  );
  const moved = verdicts.filter(({ action }) => finished.has(action.id));
  return {
    moved,
    entries: moved.map(({ action, outcome }) => ({ decision: DECISION[outcome.to], scheduledActionId: action.id })),
    deliveries: moved.flatMap(({ action }) => deliveryOf(action, finished)),
  };
}

/** What history calls an outcome. */
export const DECISION = {
  done: 'fired',
  cancelled: 'cancelled',
  failed: 'failed',
  pending: 'retried',
  deferred: 'deferred',
} as const satisfies Record<ActionOutcome['to'], LogEntry['decision']>;

const decisionOf = ({ outcome, reasonCode, detail }: Verdict): DecisionOnAction => ({
  decision: DECISION[outcome.to],
  reasonCode,
  detail,
});

async function sendOf({ action, words, outcome }: Verdict): Promise<SendOfAction | undefined> {
  if (outcome.to !== 'done' || words === undefined) return undefined;
  return {
    channelId: action.channelId,
    scheduledActionId: action.id,
    epoch: action.gen + 1,
    messages: words.messages,
    traceparent: await traceDecision('decide scheduled action', action.traceparent),
  };
}

function deliveryOf({ id, organizationId, lineOaId }: HeldAction, finished: Finished): CreatedDelivery[] {
  const ticket = finished.get(id);
  return ticket === undefined ? [] : [{ ...ticket, organizationId, lineOaId, logicalId: id, isWebhook: false }];
}
