import { scheduledActionFire, scheduledActionFireNow } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import type { Broker } from '@dueline/mq';
import { releaseUntaken } from '@dueline/scheduled-actions';

/** How it is known that tickets are gone. */
type Lost = 'queue_empty' | 'connection_lost';

export interface ReleaseDeps {
  readonly db: Db;
  readonly broker: Pick<Broker, 'waiting' | 'publishingLost'>;
  /** Only rows that were claimed so long ago, in seconds of process time: younger tickets may be on their way. */
  readonly olderThanSeconds: number;
  readonly onReleased: (why: Lost, count: number) => void;
}

/** Looks in a row that must find the queues empty. */
const EMPTY_LOOKS = 2;

/**
 * Gives claimed rows back whose tickets are gone: when nothing waits in the queues at two looks in a row, or the connection that
 * published them was lost. Never counted against the rows; a ticket that turns up all the same is refused by its fence.
 *
 * @returns One look; to be called every few seconds.
 */
export function releaseLostTickets({ db, broker, olderThanSeconds, onReleased }: ReleaseDeps): () => Promise<void> {
  let emptyLooks = 0;
  let lostBefore = broker.publishingLost();
  const release = async (why: Lost) => {
    const count = await releaseUntaken(db, { olderThanSeconds });
    if (count > 0) onReleased(why, count);
  };
  return async () => {
    const lost = broker.publishingLost();
    if (lost > lostBefore) await release('connection_lost');
    lostBefore = lost;
    const counts = await Promise.all(
      [scheduledActionFire, scheduledActionFireNow].map((queue) => broker.waiting(queue)),
    );
    emptyLooks = counts.every((count) => count === 0) ? emptyLooks + 1 : 0;
    if (emptyLooks >= EMPTY_LOOKS) await release('queue_empty');
  };
}
