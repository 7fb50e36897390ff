import { openAttention } from '@dueline/attention';
import type { TenantTicket, Tickets } from '@dueline/contracts';
import { inTransaction, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { discarded, type Handler } from '@dueline/mq';
import { safeErrorText } from '@dueline/runtime';
import {
  failedDecision,
  finishActions,
  type HeldAction,
  holdActions,
  suspectActions,
} from '@dueline/scheduled-actions';
import { recordDecisions } from '@dueline/trigger-rules';
import type { DecideDeps } from './deps.ts';
import { decideInHand } from './in-hand.ts';
import { entryBase, failedItem, type Settled, settleActions } from './settle-actions.ts';
import { decideOrSplit } from './split.ts';

/**
 * Consumer of scheduled_action_fire: decides each due action and hands what follows to line-delivery. A repeated or stale
 * ticket holds no row and is dropped. Acked after the commit, so a kill repeats the whole message, whose rows are then decided one
 * by one.
 */
export const fireScheduledActions =
  (deps: DecideDeps): Handler<Tickets> =>
  async ({ tenant, data, deliveryCount }) => {
    await deps.ready();
    const ids = data.tickets.map(({ id }) => id);
    if (deliveryCount > 0) await deps.gate.alone(() => suspectActions(deps.db, ids));
    const decided = await fireTickets(deps, {
      tickets: data.tickets.map((ticket) => ({ ...ticket, ...tenant })),
      alone: deliveryCount > 0,
    });
    if (decided > 0) deps.reach?.('fire_action.handled');
    return decided === 0 ? discarded('no ticket held an action') : { outcome: 'done', detail: { actions: decided } };
  };

/** Decides claimed actions, alone where one spoils the batch or may kill us; a decision that fails is retried later, then failed. */
export async function fireTickets(
  deps: DecideDeps,
  { tickets, alone }: { tickets: readonly TenantTicket[]; alone: boolean },
): Promise<number> {
  const concluding: Promise<number>[] = [];
  await decideOrSplit(tickets, {
    gate: deps.gate,
    alone,
    decide: async (some, how) => {
      const settled = await settle(deps, { tickets: some, alone: how.alone });
      if (settled.entries.length > 0) deps.reach?.('fire_action.committed');
      concluding.push(concludeSettled(deps, settled)); // while the next ones are decided
      return settled.setAside;
    },
    onFailure: (ticket, error) => recordFailure(deps, ticket, error),
  });
  const decided = await Promise.all(concluding);
  return decided.reduce((sum, count) => sum + count, 0);
}

function settle(
  deps: DecideDeps,
  { tickets, alone }: { tickets: readonly TenantTicket[]; alone: boolean },
): Promise<Settled> {
  const written = (settled: Settled): Settled => {
    if (settled.entries.length > 0) deps.reach?.('fire_action.deciding');
    return settled;
  };
  const { meet } = deps;
  return alone
    ? decideInHand(deps, 'action', async (tx, take) => written(await settleActions(tx, tickets, { alone, take, meet })))
    : inTransaction(deps.db, async (tx) => written(await settleActions(tx, tickets, { alone, meet })));
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
  const decision = await inTransaction(deps.db, async (tx) => {
    const [action] = await holdActions(tx, [ticket]);
    return action === undefined ? undefined : writeFailure(tx, action, error);
  });
  if (decision !== undefined) deps.onDecided('scheduled_action', decision);
}

async function writeFailure(tx: Tx, action: HeldAction, error: unknown): Promise<'failed' | 'retried'> {
  const message = safeErrorText(error);
  const outcome = failedDecision(action, { error: message, fatal: error instanceof PermanentError });
  await finishActions(tx, [outcome]);
  const decision = outcome.to === 'failed' ? 'failed' : 'retried';
  const reasonCode = 'decision_failed';
  await recordDecisions(tx, [{ ...entryBase(action), decision, reasonCode, errorMessage: message }]);
  if (decision === 'failed') await openAttention(tx, [failedItem(action, reasonCode)]);
  return decision;
}
