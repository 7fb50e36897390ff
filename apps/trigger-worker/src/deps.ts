import { actionExecute, type TenantTicket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { unpublishDeliveries } from '@dueline/deliveries';
import type { Broker, Log } from '@dueline/mq';
import type { Reach } from '@dueline/runtime';
import { publishTickets } from '@dueline/worker-app';

/** What every handler of this app works with. */
export interface DecideDeps {
  readonly db: Db;
  readonly log: Log;
  /** Hands tickets of committed deliveries to line-delivery; never throws for the broker's state. */
  readonly handOver: (deliveries: readonly TenantTicket[]) => Promise<void>;
  /** Counts decisions, for metrics. */
  readonly onDecided: (kind: 'event' | 'scheduled_action', decision: string) => void;
  readonly reach?: Reach | undefined;
}

/**
 * Publishes on action_execute. What the broker does not confirm is marked for the announcing sweep, which takes it within a
 * second; should even that fail, the sweep takes it later. Never throws: the decision is committed, and must not be repeated.
 */
export const handOverTo =
  ({ db, broker, log }: { db: Db; broker: Pick<Broker, 'publish'>; log: Log }): DecideDeps['handOver'] =>
  async (deliveries) => {
    const failed = await publishTickets(broker, actionExecute, deliveries);
    try {
      await unpublishDeliveries(db, failed);
    } catch (error) {
      log.warn(
        { err: error, deliveries: failed.length },
        'deliveries were not handed over; the sweep will announce them',
      );
    }
  };
