import type { Db } from '@dueline/db';
import { closeOverdueDeliveries, reapDeliveries } from '@dueline/deliveries';
import { recoverStaleProcessing } from '@dueline/scheduled-actions';

export type Recovered = (what: 'scheduled_action' | 'delivery' | 'overdue_delivery', count: number) => void;

/** Calls `step` until it takes fewer than a full batch, and reports the sum when it is not zero. */
async function untilDone(step: () => Promise<number>, report: (count: number) => void): Promise<void> {
  let sum = 0;
  for (let taken = 500; taken >= 500; sum += taken) taken = await step();
  if (sum > 0) report(sum);
}

/** Takes back rows whose worker died, and closes deliveries that nobody may send any more. */
export const recoverRows =
  ({ db, onRecovered }: { db: Db; onRecovered: Recovered }) =>
  async (): Promise<void> => {
    await untilDone(
      () => recoverStaleProcessing(db),
      (count) => onRecovered('scheduled_action', count),
    );
    await untilDone(
      () => reapDeliveries(db),
      (count) => onRecovered('delivery', count),
    );
    await untilDone(
      () => closeOverdueDeliveries(db),
      (count) => onRecovered('overdue_delivery', count),
    );
  };
