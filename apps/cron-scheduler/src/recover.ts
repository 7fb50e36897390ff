import { type AttentionToOpen, openAttention } from '@dueline/attention';
import { type Db, inTransaction, type Tx } from '@dueline/db';
import { recoverEventsInHand } from '@dueline/db/changes';
import { type ClosedDelivery, closeOverdueDeliveries, reapDeliveries, renewDeliveries } from '@dueline/deliveries';
import {
  cancelOfCycle,
  cancelOfDeletedRules,
  recoverActionsInHand,
  recoverStaleProcessing,
} from '@dueline/scheduled-actions';
import { markSwept, takeCancelledCycle } from '@dueline/scheduled-cycles';
import { recordCancelled } from '@dueline/trigger-rules';

type RecoveredWhat =
  | 'scheduled_action'
  | 'delivery'
  | 'overdue_delivery'
  | 'renewed_delivery'
  | 'deadly_row'
  | 'of_deleted_rule'
  | 'of_cancelled_cycle';
export type Recovered = (what: RecoveredWhat, count: number) => void;

/**
 * Calls `step` until it takes nothing, and reports the sum when it is not zero. Fewer than a full batch is no end: two replicas
 * that share a batch each take a part of it.
 */
async function untilDone(step: () => Promise<number>, report: (count: number) => void): Promise<void> {
  let sum = 0;
  for (let taken = await step(); taken > 0; taken = await step()) sum += taken;
  if (sum > 0) report(sum);
}

/** Writes down what silent processes died with: how many rows were alone in the hand of one. */
async function countDeaths(db: Db): Promise<number> {
  const dead = { leaseOver: true } as const;
  const { deaths } = await recoverActionsInHand(db, dead);
  return deaths + (await recoverEventsInHand(db, dead));
}

/** Closes up to 500 deliveries that nobody may send any more; a person hears of those whose fate nobody can learn, of webhooks that nobody took, and of menus that nobody could be shown in time. */
const closeOverdue = (db: Db): Promise<number> =>
  inTransaction(db, async (tx) => {
    const closed = await closeOverdueDeliveries(tx);
    await openAttention(tx, closed.flatMap(itemOf));
    return closed.length;
  });

function itemOf({ id, status, isWebhook, isLastMenu, ...of }: ClosedDelivery): AttentionToOpen[] {
  if (status === 'unknown') return [{ ...of, kind: 'delivery_unknown', refId: id, reasonCode: 'ambiguous' }];
  if (status !== 'expired' || !(isWebhook || isLastMenu)) return [];
  return [{ ...of, kind: 'delivery_refused', refId: id, reasonCode: isWebhook ? 'webhook_too_late' : 'menu_too_late' }];
}

/** Cancels up to 500 actions that wait for a deleted rule, with their history. */
const sweepDeletedRules = (db: Db): Promise<number> =>
  inTransaction(db, async (tx) => {
    const swept = await cancelOfDeletedRules(tx);
    await recordCancelled(tx, swept, 'rule_deleted');
    return swept.length;
  });

/** The same of cycles that were cancelled. What somebody holds of one is left for the next time, and holds up no other. */
async function sweepCancelledCycles(db: Db): Promise<number> {
  let sum = 0;
  const step = async (after: string) => {
    const { count, next } = await inTransaction(db, (tx) => sweepCycleBehind(tx, after));
    sum += count;
    return next;
  };
  let next = await step('0');
  while (next !== undefined) next = await step(next);
  return sum;
}

/** Up to 500 actions of the first cancelled cycle behind `after`, and where to go on; undefined: there is none. */
async function sweepCycleBehind(tx: Tx, after: string): Promise<{ count: number; next: string | undefined }> {
  const cycle = await takeCancelledCycle(tx, { after });
  if (cycle === undefined) return { count: 0, next: undefined };
  const swept = await cancelOfCycle(tx, cycle);
  if (swept.length === 0) await markSwept(tx, cycle);
  await recordCancelled(tx, swept, 'cycle_cancelled');
  return { count: swept.length, next: swept.length === 0 ? cycle.executionId : after };
}

/**
 * Takes back rows whose worker died, writes down what it died with before that, closes deliveries that nobody may send any more, gives a
 * new key to those that may not use theirs any more and reached nobody, and cancels what a deleted rule left.
 */
export const recoverRows =
  ({ db, onRecovered }: { db: Db; onRecovered: Recovered }) =>
  async (): Promise<void> => {
    const deaths = await countDeaths(db);
    if (deaths > 0) onRecovered('deadly_row', deaths);
    await untilDone(
      () => recoverStaleProcessing(db),
      (count) => onRecovered('scheduled_action', count),
    );
    await untilDone(
      () => reapDeliveries(db),
      (count) => onRecovered('delivery', count),
    );
    await untilDone(
      () => closeOverdue(db),
      (count) => onRecovered('overdue_delivery', count),
    );
    await untilDone(
      () => inTransaction(db, renewDeliveries),
      (count) => onRecovered('renewed_delivery', count),
    );
    await untilDone(
      () => sweepDeletedRules(db),
      (count) => onRecovered('of_deleted_rule', count),
    );
    const ofCycles = await sweepCancelledCycles(db);
    if (ofCycles > 0) onRecovered('of_cancelled_cycle', ofCycles);
  };
