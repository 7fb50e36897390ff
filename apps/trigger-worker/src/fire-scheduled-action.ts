import { openAttention } from '@dueline/attention';
import type { TenantTicket, Tickets } from '@dueline/contracts';
import { inTransaction, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { discarded, type Handler } from '@dueline/mq';
import { gather, safeErrorText } from '@dueline/runtime';
import {
  failedDecision,
  finishActions,
  type HeldAction,
  holdActions,
  stillOpen,
  suspectActions,
} from '@dueline/scheduled-actions';
import { recordDecisions } from '@dueline/trigger-rules';
import { entryBase, failedItem } from './action-history.ts';
import type { DecideDeps } from './deps.ts';
import { decideInHand } from './in-hand.ts';
import { type Settled, settleActions } from './settle-actions.ts';
import { type Committed, decideAndConclude } from './split.ts';

/** Tickets that one transaction decides at most, and transactions at once: while one waits for the database, another works here. */
const TICKETS_AT_ONCE = 500;
const TRANSACTIONS_AT_ONCE = 2;

/**
 * Consumer of scheduled_action_fire: decides each due action and hands what follows to line-delivery. Messages that are here at the
 * same time are decided together. A repeated or stale ticket holds no row and is dropped. Acked after the commit, so a kill repeats
 * what was in hand, and the rows of a message that comes back are decided one by one.
 */
export function fireScheduledActions(deps: DecideDeps): Handler<Tickets> {
  const fireTogether = gather(
    async (messages: readonly (readonly TenantTicket[])[]) => {
      const fired = await decideTickets(deps, { tickets: messages.flat(), alone: false });
      return messages.map(() => fired); // one result for all, so that the next ones are decided while it is concluded
    },
    { maxSize: TICKETS_AT_ONCE, sizeOf: (tickets) => tickets.length, atOnce: TRANSACTIONS_AT_ONCE },
  );
  return async ({ tenant, data, deliveryCount }) => {
    await deps.ready();
    const tickets = data.tickets.map((ticket) => ({ ...ticket, ...tenant }));
    const fired = deliveryCount > 0 ? await fireAgain(deps, tickets) : await fireTogether(tickets);
    const ids = await fired.ids;
    const actions = tickets.filter(({ id }) => ids.has(id)).length;
    if (actions > 0) deps.reach?.('fire_action.handled');
    return actions === 0 ? discarded('no ticket held an action') : { outcome: 'done', detail: { actions } };
  };
}

/** Whoever had these in hand may have died of one of them. */
async function fireAgain(deps: DecideDeps, tickets: readonly TenantTicket[]): Promise<Committed> {
  const ids = tickets.map(({ id }) => id);
  await deps.gate.alone(() => suspectActions(deps.db, ids));
  const open = await stillOpen(deps.db, ids);
  return decideTickets(deps, { tickets: tickets.filter(({ id }) => open.has(id)), alone: true });
}

/** Decides claimed actions, alone where one spoils the batch or may kill us; a decision that fails is retried later, then failed. */
export async function fireTickets(
  deps: DecideDeps,
  work: { tickets: readonly TenantTicket[]; alone: boolean },
): Promise<void> {
  const { ids } = await decideTickets(deps, work);
  await ids;
}

const decideTickets = (
  deps: DecideDeps,
  { tickets, alone }: { tickets: readonly TenantTicket[]; alone: boolean },
): Promise<Committed> =>
  decideAndConclude(tickets, {
    ...{ gate: deps.gate, log: deps.log, alone },
    decide: async (some, how) => {
      const settled = await settle(deps, { tickets: some, alone: how.alone });
      if (settled.entries.length > 0) deps.reach?.('fire_action.committed');
      return settled;
    },
    idsOf: ({ entries }) => entries.flatMap(({ scheduledActionId }) => scheduledActionId ?? []),
    conclude: (settled) => concludeSettled(deps, settled),
    onFailure: (ticket, error) => recordFailure(deps, ticket, error),
  });

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
export async function concludeSettled(deps: DecideDeps, { entries, deliveries, lateSeconds }: Settled): Promise<void> {
  for (const entry of entries) deps.onDecided('scheduled_action', entry.decision);
  for (const seconds of lateSeconds) deps.onLate?.(seconds);
  await deps.handOver(deliveries);
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
