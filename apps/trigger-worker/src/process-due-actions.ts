import { TransientError } from '@dueline/kernel';
import { type Claim, claimBatch } from '@dueline/scheduled-actions';
import type { DecideDeps } from './deps.ts';
import { concludeSettled, fireTickets } from './fire-scheduled-action.ts';
import { decideInHand } from './in-hand.ts';
import { type Settled, settleActions } from './settle-actions.ts';

/**
 * The inline profile (ProcessDueActions): claims what is due and decides it, both in one transaction, without the broker. Beside it
 * stands which rows it has in hand, because a crash takes the claim back. When a row spoils the batch, the batch is claimed for itself and
 * each row decided alone; so is what must be.
 *
 * @returns A run that says whether a claim found something: then there may be more. What a run decided is handed over
 * while the next one claims.
 */
export function processDueActions(deps: DecideDeps, claim: Claim): () => Promise<boolean> {
  let handingOver: Promise<unknown> = Promise.resolve();
  return async () => {
    await deps.ready();
    try {
      const settled = await claimAndSettle(deps, claim);
      await handingOver;
      if (settled === undefined) return false;
      deps.reach?.('process_due.committed');
      handingOver = concludeSettled(deps, settled);
      await fireTickets(deps, { tickets: settled.setAside, alone: true });
    } catch (error) {
      claim.accounts?.rolledBack();
      if (error instanceof TransientError) throw error;
      deps.log.warn({ err: error }, 'a batch of due actions failed; its rows are decided alone');
      await fireTickets(deps, { tickets: await claimBatch(deps.db, claim), alone: true });
    }
    return true;
  };
}

const claimAndSettle = (deps: DecideDeps, claim: Claim): Promise<Settled | undefined> =>
  deps.gate.together(() =>
    decideInHand(deps, 'action', async (tx, take) => {
      const tickets = await claimBatch(tx, claim);
      if (tickets.length === 0) return undefined;
      const written = await settleActions(tx, tickets, { alone: false, take, meet: deps.meet });
      deps.reach?.('process_due.deciding');
      return written;
    }),
  );
