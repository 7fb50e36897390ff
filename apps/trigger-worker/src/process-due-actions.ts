import { inTransaction } from '@dueline/db';
import { TransientError } from '@dueline/kernel';
import { type Claim, claimBatch } from '@dueline/scheduled-actions';
import type { DecideDeps } from './deps.ts';
import { concludeSettled, fireTickets } from './fire-scheduled-action.ts';
import { settleActions } from './settle-actions.ts';

/**
 * The inline profile (ProcessDueActions): claims what is due and decides it, both in one transaction, without the broker.
 * When a row spoils the batch, the batch is claimed for itself and each row decided alone, as on the queue.
 *
 * @returns True when a claim found something: there may be more.
 */
export const processDueActions = (deps: DecideDeps, claim: Claim) => async (): Promise<boolean> => {
  try {
    const settled = await inTransaction(deps.db, async (tx) => {
      const tickets = await claimBatch(tx, claim);
      return tickets.length === 0 ? undefined : settleActions(tx, tickets);
    });
    if (settled === undefined) return false;
    await concludeSettled(deps, settled);
  } catch (error) {
    if (error instanceof TransientError) throw error;
    deps.log.warn({ err: error }, 'a batch of due actions failed; its rows are decided alone');
    await fireTickets(deps, await claimBatch(deps.db, claim));
  }
  return true;
};
