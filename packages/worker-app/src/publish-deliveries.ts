import { actionExecute, lineDeliveryChunk, type TenantTicket, webhookCall } from '@dueline/contracts';
import type { Broker } from '@dueline/mq';
import { publishTickets } from './publish-tickets.ts';

/** A ticket of a delivery; neither a chunk of a campaign nor a webhook unless it says so. */
export interface DeliveryTicket extends TenantTicket {
  readonly isChunk?: boolean;
  readonly isWebhook?: boolean;
}

const queueOf = ({ isChunk, isWebhook }: DeliveryTicket) =>
  isChunk === true ? lineDeliveryChunk : isWebhook === true ? webhookCall : actionExecute;

/** The same as {@link publishTickets} for deliveries, each to the queue of its kind. */
export async function publishDeliveries<T extends DeliveryTicket>(
  broker: Pick<Broker, 'publish'>,
  deliveries: readonly T[],
): Promise<T[]> {
  const failed: T[] = [];
  for (const [queue, tickets] of Map.groupBy(deliveries, queueOf))
    failed.push(...(await publishTickets(broker, queue, tickets)));
  return failed;
}
