import type { TenantTicket, Tickets } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { discarded, type Handler } from '@dueline/mq';
import { safeErrorText } from '@dueline/runtime';
import { failedDecision, finishActions, holdActions } from '@dueline/scheduled-actions';
import { recordDecisions } from '@dueline/trigger-rules';
import type { DecideDeps } from './deps.ts';
import { type Settled, settleActions } from './settle-actions.ts';
import { decideOrSplit } from './split.ts';

/**
 * Consumer of scheduled_action_fire: decides each due action and hands what follows to line-delivery. A repeated or stale
 * ticket holds no row and is dropped. Acked after the commit, so a kill repeats the whole message.
 */
export const fireScheduledActions =
  (deps: DecideDeps): Handler<Tickets> =>
  async ({ tenant, data }) => {
    const decided = await fireTickets(
      deps,
      data.tickets.map((ticket) => ({ ...ticket, ...tenant })),
    );
    if (decided > 0) deps.reach?.('fire_action.handled');
    return decided === 0 ? discarded('no ticket held an action') : { outcome: 'done', detail: { actions: decided } };
  };

/** Decides claimed actions, alone where one spoils the batch; a decision that fails is retried later, then failed. */
export async function fireTickets(deps: DecideDeps, tickets: readonly TenantTicket[]): Promise<number> {
  let decided = 0;
  await decideOrSplit(
    tickets,
    async (some) => {
      const settled = await inTransaction(deps.db, async (tx) => {
        const written = await settleActions(tx, some);
        if (written.entries.length > 0) deps.reach?.('fire_action.deciding');
        return written;
      });
      if (settled.entries.length > 0) deps.reach?.('fire_action.committed');
      decided += await concludeSettled(deps, settled);
    },
    (ticket, error) => recordFailure(deps, ticket, error),
  );
  return decided;
}

/** What comes after the commit: metrics, and the tickets of new deliveries. A crash before it costs one sweep. */
export async function concludeSettled(deps: DecideDeps, { entries, deliveries }: Settled): Promise<number> {
  for (const entry of entries) deps.onDecided('scheduled_action', entry.decision);
  await deps.handOver(deliveries);
  return entries.length;
}

/** A decision that threw: another try with back-off while retries are left, else failed; either way in the history. */
async function recordFailure(deps: DecideDeps, ticket: TenantTicket, error: unknown): Promise<void> {
  deps.log.error({ err: error, actionId: ticket.id }, 'a due action could not be decided');
  const message = safeErrorText(error);
  await inTransaction(deps.db, async (tx) => {
    const [action] = await holdActions(tx, [ticket]);
    if (action === undefined) return;
    const outcome = failedDecision(action, message);
    await finishActions(tx, [outcome]);
    const { organizationId, lineOaId, userId, triggerRuleId, ruleVersion, eventId, rootId } = action;
    const decision = outcome.to === 'failed' ? 'failed' : 'retried';
    await recordDecisions(tx, [
      {
        ...{ organizationId, lineOaId, userId, triggerRuleId, ruleVersion, eventId, rootId },
        triggerOn: 'scheduled_action',
        action: action.request,
        decision,
        reasonCode: 'decision_failed',
        errorMessage: message,
        scheduledActionId: action.id,
      },
    ]);
    deps.onDecided('scheduled_action', decision);
  });
}
