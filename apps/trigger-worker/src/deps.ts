import { actionExecute, type TenantTicket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { unpublishDeliveries } from '@dueline/deliveries';
import type { Broker, Log } from '@dueline/mq';
import { publishTickets } from '@dueline/worker-app';

/** What every handler of this app works with. */
export interface DecideDeps {
  readonly db: Db;
  readonly log: Log;
  /** Hands tickets of committed deliveries to line-delivery; never throws for the broker's state. */
  readonly handOver: (deliveries: readonly TenantTicket[]) => Promise<void>;
  /** Counts decisions, for metrics. */
  readonly onDecided: (kind: 'event' | 'scheduled_action', decision: string) => void;
}

/** Publishes on action_execute; what the broker does not confirm is left to the announcing sweep, which takes it within a second. */
export const handOverTo =
  ({ db, broker }: { db: Db; broker: Pick<Broker, 'publish'> }): DecideDeps['handOver'] =>
  async (deliveries) => {
    const failed = await publishTickets(broker, actionExecute, deliveries);
    await unpublishDeliveries(db, failed);
  };
