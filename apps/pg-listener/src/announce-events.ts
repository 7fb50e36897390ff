import { type EventTopic, QUEUE_OF_TOPIC } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import {
  announceEvents,
  countPublished,
  type EventTicket,
  type OutboxLimits,
  releaseEvents,
} from '@dueline/db/changes';
import { groupBy, sleep } from '@dueline/kernel';
import type { Broker } from '@dueline/mq';
import { type Reach, withSpan } from '@dueline/runtime';
import { publishTickets } from '@dueline/worker-app';

/** Least time between the claims of two finds: what is written meanwhile shares a claim, and messages. A find after a pause goes at once. */
const PAUSE_MS = 10;
/** How long a count of what is announced and undecided holds. */
const COUNT_HOLDS_MS = 100;

export interface AnnounceDeps {
  readonly db: Db;
  readonly broker: Pick<Broker, 'publish' | 'state'>;
  readonly limits: OutboxLimits;
  readonly onPublished: (topic: EventTopic, count: number) => void;
  readonly reach?: Reach | undefined;
}

/**
 * Publishes tickets for the oldest events of the outbox, and once more for those that nobody decided within the lease.
 * Claims nothing while the broker is away. What the broker did not confirm is released at once and repeated by the next
 * step; a crash in between costs the lease, never an event. Steps that follow each other wait a few milliseconds, so that a stream of
 * single events travels in few messages.
 *
 * @returns True when there may be more to do at once.
 */
export function announceOutboxEvents(deps: AnnounceDeps): () => Promise<boolean> {
  const count = createCount(deps);
  let foundAt = Number.NEGATIVE_INFINITY;
  return async () => {
    if (deps.broker.state() !== 'ready') return false;
    const waitMs = foundAt + PAUSE_MS - performance.now();
    if (waitMs > 0) await sleep(waitMs);
    const askedAt = performance.now();
    const tickets = await announceEvents(deps.db, { ...deps.limits, published: await count.published() });
    if (tickets.length === 0) return false;
    foundAt = askedAt;
    count.add(tickets.length);
    deps.reach?.('announce_event.claimed');
    const topics = [...groupBy(tickets, (ticket) => ticket.topic)];
    const unpublished = await Promise.all(topics.map(([topic, ofTopic]) => publishTopic(deps, topic, ofTopic)));
    return unpublished.every((failed) => failed === 0);
  };
}

/** How many events are announced and undecided, counted now and then: a claim must not cost what others still have to decide. */
function createCount({ db, limits }: Pick<AnnounceDeps, 'db' | 'limits'>) {
  let [published, countedAt] = [0, Number.NEGATIVE_INFINITY];
  return {
    published: async (): Promise<number> => {
      const now = performance.now();
      if (now < countedAt + COUNT_HOLDS_MS && published < limits.maxPublished) return published;
      published = await countPublished(db);
      countedAt = now;
      return published;
    },
    add: (more: number) => {
      published += more;
    },
  };
}

async function publishTopic(deps: AnnounceDeps, topic: EventTopic, tickets: EventTicket[]): Promise<number> {
  const failed = await withSpan(`announce ${topic}`, { attributes: { 'dueline.events': tickets.length } }, () =>
    publishTickets(deps.broker, QUEUE_OF_TOPIC[topic], tickets),
  );
  deps.reach?.('announce_event.published');
  deps.onPublished(topic, tickets.length - failed.length);
  if (failed.length > 0) await releaseEvents(deps.db, failed);
  return failed.length;
}
