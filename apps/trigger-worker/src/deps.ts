import type { EventTopic } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { recoverEventsInHand } from '@dueline/db/changes';
import { unpublishDeliveries } from '@dueline/deliveries';
import type { Broker, Log } from '@dueline/mq';
import type { Reach } from '@dueline/runtime';
import { recoverActionsInHand } from '@dueline/scheduled-actions';
import { releaseEarlierBoots } from '@dueline/scheduled-cycles';
import { type DeliveryTicket, publishDeliveries } from '@dueline/worker-app';
import type { Gate } from './gate.ts';

/** What every handler of this app works with. */
export interface DecideDeps {
  readonly db: Db;
  readonly log: Log;
  /** Hands tickets of committed deliveries to line-delivery; never throws for the broker's state. */
  readonly handOver: (deliveries: readonly DeliveryTicket[]) => Promise<void>;
  /** Counts decisions, for metrics. */
  readonly onDecided: (kind: 'event' | 'scheduled_action', decision: string) => void;
  /** Counts events that were taken and decided, and on which way they came, for metrics. */
  readonly onTaken?: ((topic: EventTopic, profile: 'inline' | 'queue', count: number) => void) | undefined;
  /** Told how late an action was decided, in seconds, for metrics. */
  readonly onLate?: ((seconds: number) => void) | undefined;
  readonly reach?: Reach | undefined;
  /** For tests: is told whose row is being decided, and may end the process. */
  readonly meet?: ((userId: string) => void) | undefined;
  /** `<instance>:<boot>`. */
  readonly claimedBy: string;
  /** How long this process may be silent about what it has in hand, in seconds of process time. */
  readonly leaseSeconds: number;
  readonly gate: Gate;
  /** Resolves when it is written down what earlier boots of this instance died with: nothing is decided before. */
  readonly ready: () => Promise<void>;
}

/**
 * Writes down, once, what earlier boots of this instance died with. While the database is away it throws, and the next call tries
 * again.
 */
export function afterEarlierBoots({
  db,
  log,
  claimedBy,
}: Pick<DecideDeps, 'db' | 'log' | 'claimedBy'>): () => Promise<void> {
  let done: Promise<void> | undefined;
  const recover = async () => {
    const dead = { earlierBootsOf: claimedBy };
    const { deaths, suspects } = await recoverActionsInHand(db, dead);
    const events = await recoverEventsInHand(db, dead);
    await releaseEarlierBoots(db, { claimedBy });
    if (deaths + suspects + events > 0) {
      log.warn({ deaths: deaths + events, suspects }, 'an earlier boot of this instance died while it decided');
    }
  };
  return () => {
    done ??= recover().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}

/**
 * Publishes on action_execute, and webhooks on webhook_call. What the broker does not confirm is marked for the announcing sweep, which takes it within a
 * second; should even that fail, the sweep takes it later. Never throws: the decision is committed, and must not be repeated.
 */
export const handOverTo =
  ({ db, broker, log }: { db: Db; broker: Pick<Broker, 'publish'>; log: Log }): DecideDeps['handOver'] =>
  async (deliveries) => {
    const failed = await publishDeliveries(broker, deliveries);
    try {
      await unpublishDeliveries(db, failed);
    } catch (error) {
      log.warn(
        { err: error, deliveries: failed.length },
        'deliveries were not handed over; the sweep will announce them',
      );
    }
  };
