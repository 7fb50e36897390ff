import type { Db } from '@dueline/db';
import { announceDeliveries, unpublishDeliveries } from '@dueline/deliveries';
import type { Broker } from '@dueline/mq';
import type { Reach } from '@dueline/runtime';
import { publishDeliveries } from '@dueline/worker-app';

const BATCH = 500;

/**
 * Publishes tickets for deliveries that are due and unannounced: retries, and those whose first ticket was lost. Chunks of
 * campaigns and webhooks have queues of their own.
 */
export const announceDueDeliveries =
  ({
    db,
    broker,
    againAfterSeconds,
    reach,
  }: {
    db: Db;
    broker: Pick<Broker, 'publish' | 'state'>;
    againAfterSeconds: number;
    reach?: Reach | undefined;
  }) =>
  async (): Promise<void> => {
    while (broker.state() === 'ready') {
      const tickets = await announceDeliveries(db, { limit: BATCH, againAfterSeconds });
      if (tickets.length > 0) reach?.('announce_delivery.claimed');
      const failed = await publishDeliveries(broker, tickets);
      if (tickets.length > 0) reach?.('announce_delivery.published');
      await unpublishDeliveries(db, failed);
      if (tickets.length < BATCH || failed.length > 0) return;
    }
  };
