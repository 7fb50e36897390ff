import { MAX_TICKETS_PER_MESSAGE, type Queue, type TenantTicket, type Tickets } from '@dueline/contracts';
import { chunk, groupBy } from '@dueline/kernel';
import type { Broker } from '@dueline/mq';

/**
 * Publishes tickets, up to 100 of one account to a message. Settles in bounded time and never throws for the broker's state.
 *
 * @returns The tickets of messages that the broker did not confirm: their rows must be released or announced again. A few
 * may have arrived all the same; their fences make them harmless.
 */
export async function publishTickets<T extends TenantTicket>(
  broker: Pick<Broker, 'publish'>,
  queue: Queue<Tickets>,
  tickets: readonly T[],
): Promise<T[]> {
  const batches = [
    ...groupBy(tickets, ({ organizationId, lineOaId }) => `${organizationId}:${lineOaId}`).values(),
  ].flatMap((group) => chunk(group, MAX_TICKETS_PER_MESSAGE));
  const messages = batches.flatMap((batch) => {
    const [first] = batch;
    if (first === undefined) return [];
    const tenant = { organizationId: first.organizationId, lineOaId: first.lineOaId };
    return [{ tenant, data: { tickets: batch.map(({ id, fence }) => ({ id, fence })) } }];
  });
  const results = await broker.publish(queue, messages);
  return batches.filter((_, at) => !results[at]?.ok).flat();
}
