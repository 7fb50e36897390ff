import { type Broker, connectBroker } from '@dueline/mq';
import type { Product } from './product.ts';
import { SILENT } from './silent.ts';

/** A connection of the bench's own; resolves when it is ready. */
export async function connectTo({ place }: Product): Promise<Broker> {
  const broker = connectBroker({ url: place.amqpUrl, appId: 'bench', log: SILENT });
  await broker.ready();
  return broker;
}
