import type { Queue } from '@dueline/contracts';
import { PermanentError, TransientError } from '@dueline/kernel';
import { type ChannelModel, connect } from 'amqplib';
import { type BrokerAddress, createManagement } from './management.ts';
import { describeTopology, type Topology } from './topology.ts';
import type { Log } from './types.ts';
import { close, errorFields } from './waiting.ts';

const CONNECT_TIMEOUT_MS = 5_000;

export interface DeclareOptions extends BrokerAddress {
  readonly queues: readonly Queue<unknown>[];
  readonly log: Log;
  /** Milliseconds in the retry tier; ten minutes when not given. */
  readonly retryTierMs?: number;
}

/**
 * Makes the vhost hold the topology: policies, exchanges, queues, bindings. May be repeated; deletes nothing.
 * Needs a user with configure rights and the management API.
 *
 * @throws PermanentError when something of the same name exists with another type: give it a new name and drain the old.
 * @throws TransientError when the broker or its management API cannot be reached or refuses.
 */
export async function declareTopology({ queues, log, retryTierMs, ...address }: DeclareOptions): Promise<void> {
  const topology = describeTopology(queues, retryTierMs === undefined ? {} : { retryTierMs });
  const management = createManagement(address);
  for (const { name, pattern, priority, definition } of topology.policies) {
    const body = { pattern, priority, definition, 'apply-to': 'queues' };
    await management.put(['policies', management.vhost, name], body);
  }
  await withConnection(address.url, log, (connection) => declareObjects(connection, topology, log));
  const { exchanges, bindings, policies } = topology;
  const counts = { exchanges: exchanges.length, queues: topology.queues.length, bindings: bindings.length };
  log.info({ vhost: management.vhost, ...counts, policies: policies.length }, 'topology declared');
}

async function declareObjects(connection: ChannelModel, topology: Topology, log: Log): Promise<void> {
  const channel = await connection.createChannel();
  channel.on('error', (error) => log.error(errorFields(error), 'declaring failed'));
  try {
    for (const { name, type } of topology.exchanges) await channel.assertExchange(name, type, { durable: true });
    for (const name of topology.queues) {
      await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
    }
    for (const { exchange, queue, routingKey } of topology.bindings) {
      await channel.bindQueue(queue, exchange, routingKey);
    }
    await close(channel);
  } catch (cause) {
    const { error, code } = errorFields(cause);
    if (code === 406) throw new PermanentError(`topology conflicts with what exists: ${error}`, { cause });
    throw new TransientError(`topology could not be declared: ${error}`, { cause });
  }
}

/** A connection for one piece of work, without reconnecting. */
export async function withConnection<T>(
  url: string,
  log: Log,
  work: (connection: ChannelModel) => Promise<T>,
): Promise<T> {
  const connection = await dial(url);
  connection.on('error', (error) => log.error(errorFields(error), 'broker connection failed'));
  try {
    return await work(connection);
  } finally {
    await close(connection);
  }
}

async function dial(url: string): Promise<ChannelModel> {
  const target = new URL(url);
  target.searchParams.set('heartbeat', '10');
  try {
    return await connect(target.href, { timeout: CONNECT_TIMEOUT_MS });
  } catch (cause) {
    throw new TransientError('broker cannot be reached', { cause });
  }
}
