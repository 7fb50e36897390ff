import { type EventTopic, QUEUE_OF_TOPIC } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { announceEvents, type EventTicket, type OutboxLimits, releaseEvents } from '@dueline/db/changes';
import { groupBy } from '@dueline/kernel';
import type { Broker } from '@dueline/mq';
import { type Reach, withSpan } from '@dueline/runtime';
import { publishTickets } from '@dueline/worker-app';

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
 * step; a crash in between costs the lease, never an event.
 *
 * @returns True when there may be more to do at once.
 */
export const announceOutboxEvents = (deps: AnnounceDeps) => async (): Promise<boolean> => {
  if (deps.broker.state() !== 'ready') return false;
  const tickets = await announceEvents(deps.db, deps.limits);
  if (tickets.length > 0) deps.reach?.('announce_event.claimed');
  let unpublished = 0;
  for (const [topic, ofTopic] of groupBy(tickets, (ticket) => ticket.topic))
    unpublished += await publishTopic(deps, topic, ofTopic);
  return tickets.length > 0 && unpublished === 0;
};

async function publishTopic(deps: AnnounceDeps, topic: EventTopic, tickets: EventTicket[]): Promise<number> {
  const failed = await withSpan(`announce ${topic}`, { attributes: { 'dueline.events': tickets.length } }, () =>
    publishTickets(deps.broker, QUEUE_OF_TOPIC[topic], tickets),
  );
  deps.reach?.('announce_event.published');
  deps.onPublished(topic, tickets.length - failed.length);
  if (failed.length > 0) await releaseEvents(deps.db, failed);
  return failed.length;
}
