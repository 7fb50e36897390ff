import { loadChannelIds } from '@dueline/accounts';
import type { ActionRequest, TenantTicket } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { type CreatedDelivery, createDeliveries } from '@dueline/deliveries';
import { getLineUsers, type LineUser, lineUserKey } from '@dueline/recipients';
import {
  type ActionOutcome,
  type BranchedAction,
  cancelReason,
  decideBranches,
  finishActions,
  type HeldAction,
  holdActions,
  requestOnBranch,
} from '@dueline/scheduled-actions';
import {
  conditionsStillHold,
  getRuleStates,
  type LogEntry,
  type ReasonCode,
  type RuleState,
  recordDecisions,
} from '@dueline/trigger-rules';
import { reasonOfBranch } from './branch.ts';
import { traceDecision } from './trace.ts';

export interface Settled {
  readonly entries: readonly LogEntry[];
  readonly deliveries: readonly CreatedDelivery[];
}

interface Verdict {
  readonly action: BranchedAction;
  /** What the action does on its branch; undefined: nothing. */
  readonly request: ActionRequest | undefined;
  readonly outcome: ActionOutcome;
  readonly reasonCode: ReasonCode;
  readonly detail: unknown;
}

/**
 * Decides claimed actions in the caller's transaction: holds the rows by their fences, re-checks rule, person and
 * conditions as they are now, finishes each row, and writes history and deliveries for those that really moved. A ticket
 * whose row was decided, taken back or changed in the meantime leaves no trace.
 */
export async function settleActions(tx: Tx, tickets: readonly TenantTicket[]): Promise<Settled> {
  const held = await holdActions(tx, tickets);
  if (held.length === 0) return { entries: [], deliveries: [] };
  const users = await getLineUsers(tx, held);
  const rules = await getRuleStates(
    tx,
    held.flatMap(({ triggerRuleId }) => triggerRuleId ?? []),
  );
  const branched = await decideBranches(tx, held);
  const verdicts = branched.map((action) => decide(action, users.get(lineUserKey(action)), rules));

  const moved = await finishActions(
    tx,
    verdicts.map(({ outcome }) => outcome),
  );
  const mine = verdicts.filter(({ action }) => moved.has(action.id));
  const deliveries = await createDeliveriesOf(
    tx,
    mine.flatMap(({ action, request, outcome }) =>
      outcome.to === 'done' && request !== undefined ? { ...action, request } : [],
    ),
  );
  const deliveryIds = new Map(deliveries.map((delivery) => [delivery.logicalId, delivery.id]));
  const entries = mine.map((verdict) => entryFor(verdict, deliveryIds.get(verdict.action.id)));
  await recordDecisions(tx, entries);
  return { entries, deliveries };
}

function decide(action: BranchedAction, user: LineUser | undefined, rules: ReadonlyMap<string, RuleState>): Verdict {
  const request = requestOnBranch(action);
  const again =
    action.sourceConfig === null || user === undefined
      ? undefined
      : conditionsStillHold(action.sourceConfig, user.attributes);
  const reason = cancelReason({
    rule: action.triggerRuleId === null ? 'none' : (rules.get(action.triggerRuleId) ?? 'deleted'),
    isFollowing: user?.isFollowing,
    branchRuns: request !== undefined,
    conditionsHold: again?.holds ?? true,
  });
  const { id, fence, branch } = action;
  if (reason === undefined) {
    const reasonCode = reasonOfBranch(action);
    return { action, request, outcome: { id, fence, branch, to: 'done' }, reasonCode, detail: { branch } };
  }
  const detail = reason === 'conditions_no_longer_hold' ? { branch, leaves: again?.leaves } : { branch };
  return { action, request, outcome: { id, fence, branch, to: 'cancelled', reason }, reasonCode: reason, detail };
}

async function createDeliveriesOf(tx: Tx, actions: readonly HeldAction[]): Promise<CreatedDelivery[]> {
  if (actions.length === 0) return [];
  const channelIds = await loadChannelIds(
    tx,
    actions.map(({ lineOaId }) => lineOaId),
  );
  return createDeliveries(
    tx,
    await Promise.all(
      actions.map(async (action) => {
        const channelId = channelIds.get(action.lineOaId);
        if (channelId === undefined) throw new Error('the account of an action does not exist');
        return {
          ...action,
          channelId,
          kind: 'action' as const,
          logicalId: action.id,
          epoch: action.gen + 1,
          scheduledActionId: action.id,
          traceparent: await traceDecision('decide scheduled action', action.traceparent),
        };
      }),
    ),
  );
}

function entryFor({ action, request, outcome, reasonCode, detail }: Verdict, deliveryId: string | undefined): LogEntry {
  const { organizationId, lineOaId, userId, triggerRuleId, ruleVersion, eventId, rootId } = action;
  return {
    ...{ organizationId, lineOaId, userId, triggerRuleId, ruleVersion, eventId, rootId },
    triggerOn: 'scheduled_action',
    action: request ?? action.request,
    decision: outcome.to === 'done' ? 'fired' : 'cancelled',
    reasonCode,
    detail,
    scheduledActionId: action.id,
    deliveryId: deliveryId ?? null,
  };
}
