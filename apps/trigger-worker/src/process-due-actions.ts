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
 * @returns A run that says whether a claim found something: then there may be more. What a run decided is handed over
 * while the next one claims.
 */
export function processDueActions(deps: DecideDeps, claim: Claim): () => Promise<boolean> {
  let handingOver: Promise<unknown> = Promise.resolve();
  return async () => {
    try {
      const settled = await inTransaction(deps.db, async (tx) => {
        const tickets = await claimBatch(tx, claim);
        if (tickets.length === 0) return undefined;
        const written = await settleActions(tx, tickets);
        deps.reach?.('process_due.deciding');
        return written;
      });
      await handingOver;
      if (settled === undefined) return false;
      deps.reach?.('process_due.committed');
      handingOver = concludeSettled(deps, settled);
    } catch (error) {
      if (error instanceof TransientError) throw error;
      deps.log.warn({ err: error }, 'a batch of due actions failed; its rows are decided alone');
      await fireTickets(deps, await claimBatch(deps.db, claim));
    }
    return true;
  };
}
