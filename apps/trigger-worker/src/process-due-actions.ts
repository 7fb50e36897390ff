import { TransientError } from '@dueline/kernel';
import { type Claim, claimBatch } from '@dueline/scheduled-actions';
import type { DecideDeps } from './deps.ts';
import { concludeSettled, fireTickets } from './fire-scheduled-action.ts';
import { decideInHand } from './in-hand.ts';
import { type Settled, settleDue } from './settle-actions.ts';

/**
 * The inline profile (ProcessDueActions): locks what is due and decides it, in one transaction and one write, without the broker. Beside
 * it stands which rows it has in hand, because a crash leaves no trace of them. When a row spoils the batch, the batch is claimed for itself and
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
      const settled = await settleNext(deps, claim);
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

const settleNext = (deps: DecideDeps, claim: Claim): Promise<Settled | undefined> =>
  deps.gate.together(() =>
    decideInHand(deps, 'action', async (tx, take) => {
      const settled = await settleDue(tx, claim, { take, meet: deps.meet });
      if (settled !== undefined) deps.reach?.('process_due.deciding');
      return settled;
    }),
  );
