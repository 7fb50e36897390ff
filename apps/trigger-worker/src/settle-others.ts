import type { Tx } from '@dueline/db';
import type { CreatedDelivery } from '@dueline/deliveries';
import type { HeldAction } from '@dueline/scheduled-actions';
import { type LogEntry, recordDecisions } from '@dueline/trigger-rules';
import { entryBase } from './action-history.ts';
import { performActions } from './perform.ts';
import type { Verdict } from './settle-actions.ts';
import { DECISION, type Finish, type Written } from './settle-alongside.ts';
import { traceDecision } from './trace.ts';
import type { Words } from './wording.ts';

/** Finishes rows and does what follows step by step, because it is more than the row says. */
export async function settleOthers(tx: Tx, verdicts: readonly Verdict[], finish: Finish): Promise<Written> {
  if (verdicts.length === 0) return { entries: [], deliveries: [], moved: [] };
  const finished = await finish(verdicts.map(({ outcome }) => outcome));
  const moved = verdicts.filter(({ action }) => finished.has(action.id));
  const deliveries = await performDue(
    tx,
    moved.flatMap(({ action, request, words, outcome }) =>
      outcome.to === 'done' && request !== undefined && words !== undefined ? { ...action, request, words } : [],
    ),
  );
  const deliveryIds = new Map(deliveries.map((delivery) => [delivery.logicalId, delivery.id]));
  const entries = moved.map((verdict) => entryFor(verdict, deliveryIds.get(verdict.action.id)));
  await recordDecisions(tx, entries);
  return { entries, deliveries, moved };
}

type ActionToSay = HeldAction & { readonly words: Words };

async function performDue(tx: Tx, actions: readonly ActionToSay[]): Promise<CreatedDelivery[]> {
  const traced = await Promise.all(
    actions.map(async (action) => ({
      ...action,
      kind: 'action' as const,
      logicalId: action.id,
      epoch: action.gen + 1,
      scheduledActionId: action.id,
      traceparent: await traceDecision('decide scheduled action', action.traceparent),
    })),
  );
  return performActions(tx, traced);
}

function entryFor({ action, request, outcome, reasonCode, detail }: Verdict, deliveryId: string | undefined): LogEntry {
  const base = { ...entryBase(action), action: request ?? action.request };
  return { ...base, decision: DECISION[outcome.to], reasonCode, detail, deliveryId: deliveryId ?? null };
}
