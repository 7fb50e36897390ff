import { tookTooLong } from '@dueline/db';
import { type Claim, claimBatch, createDueAccounts } from '@dueline/scheduled-actions';
import type { DecideDeps } from './deps.ts';
import { concludeSettled, fireTickets } from './fire-scheduled-action.ts';
import { decideInHand } from './in-hand.ts';
import { settleDue } from './settle-actions.ts';
import { isNotReady } from './split.ts';

/** Batches of each lane until the caller is asked whether to go on: well under a second. */
const BATCHES = 8;
/** In a backlog: one is in the database, one in this process, one in its commit. Two were slower (docs/performance.md). */
const LANES = 3;

/** What a batch found: as many rows as it asked for, fewer, or none. */
type Found = 'all' | 'some' | 'none';
type Lane = () => Promise<Found>;

/**
 * The inline profile (ProcessDueActions): locks what is due and decides it, in one transaction and one write, without the broker. Beside
 * it stands which rows it has in hand, because a crash leaves no trace of them. When a row spoils the batch, the batch is claimed for itself and
 * each row decided alone; so is what must be. While there is a backlog further lanes work beside the first, so that the
 * database is busy while this process is.
 *
 * @returns A run that says whether anything was due: then there may be more. What a batch decided is handed over while the next one is
 * taken.
 */
export function processDueActions(deps: DecideDeps, claim: Claim): () => Promise<boolean> {
  const first = createLane(deps, claim);
  // Each with its own hand, because what is in hand is told apart; and its own list, because each goes on where it left off.
  const others = Array.from({ length: LANES - 1 }, (_, n) =>
    createLane({ ...deps, claimedBy: `${deps.claimedBy}+${n + 2}` }, { ...claim, accounts: createDueAccounts() }),
  );
  let isBacklog = false;
  return async () => {
    await deps.ready();
    const found = isBacklog ? 'all' : await first();
    isBacklog = false; // until all have ended without an error
    if (found !== 'all') return found === 'some';
    isBacklog = (await allEnded([first, ...others].map(untilShort))).includes('all');
    return true;
  };
}

/** What its last batch found. */
async function untilShort(lane: Lane): Promise<Found> {
  for (let batch = 1; batch < BATCHES; batch += 1) {
    const found = await lane();
    if (found !== 'all') return found;
  }
  return lane();
}

/** Throws what the first of them threw that failed, once none is at work. */
async function allEnded<T>(runs: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(runs);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

function createLane(deps: DecideDeps, claim: Claim): Lane {
  let handingOver: Promise<unknown> = Promise.resolve();
  return async () => {
    try {
      const settled = await settleNext(deps, claim);
      await handingOver;
      if (settled === undefined) return 'none';
      deps.reach?.('process_due.committed');
      handingOver = concludeSettled(deps, settled);
      await fireTickets(deps, { tickets: settled.setAside, alone: true });
      return settled.due >= claim.limit ? 'all' : 'some';
    } catch (error) {
      claim.accounts?.rolledBack();
      if (isNotReady(error)) throw error;
      deps.log.warn({ err: error }, 'a batch of due actions failed; its rows are decided apart');
      // of what took too long its halves may not
      await fireTickets(deps, { tickets: await claimBatch(deps.db, claim), alone: !tookTooLong(error) });
      return 'some';
    }
  };
}

const settleNext = (deps: DecideDeps, claim: Claim) =>
  deps.gate.together(() =>
    decideInHand(deps, 'action', async (tx, take) => {
      const settled = await settleDue(tx, claim, { take, meet: deps.meet });
      if (settled !== undefined) deps.reach?.('process_due.deciding');
      return settled;
    }),
  );
