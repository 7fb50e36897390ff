import type { Queue } from '@dueline/contracts';
import { fullJitterMs, sleep } from '@dueline/kernel';
import type { Channel, ChannelModel } from 'amqplib';
import { withConnection } from './declare.ts';
import { findDrift } from './drift.ts';
import type { Link } from './link.ts';
import { type BrokerAddress, createManagement } from './management.ts';
import { describeTopology, type Topology } from './topology.ts';
import type { Log } from './types.ts';
import { BACKOFF, close, errorFields } from './waiting.ts';

export interface VerifyOptions {
  readonly url: string;
  /** With it, types, bindings and policies are compared too; AMQP alone only tells what exists. */
  readonly managementUrl?: BrokerAddress['managementUrl'];
  readonly queues: readonly Queue<unknown>[];
  readonly log: Log;
  readonly retryTierMs?: number;
}

/**
 * Says what the broker lacks or has differently, one text per finding; empty when everything is as declared.
 * Changes nothing and needs no configure rights.
 *
 * @throws TransientError when the broker or its management API cannot be reached.
 */
export async function verifyTopology(options: VerifyOptions): Promise<readonly string[]> {
  const { url, managementUrl, queues, log, retryTierMs } = options;
  const topology = describeTopology(queues, retryTierMs === undefined ? {} : { retryTierMs });
  const missing = await withConnection(url, log, (connection) => findMissing(connection, topology, log));
  if (managementUrl === undefined) return missing;
  return [...missing, ...(await findDrift(createManagement({ url, managementUrl }), topology))];
}

/** Passive declarations; each miss costs its channel, so the next check gets a new one. */
async function findMissing(connection: ChannelModel, topology: Topology, log: Log): Promise<readonly string[]> {
  const missing: string[] = [];
  let channel: Channel | undefined;
  const check = async (what: string, look: (on: Channel) => Promise<unknown>) => {
    channel ??= await openProbe(connection, log);
    try {
      await look(channel);
    } catch (error) {
      channel = undefined;
      const { error: text, code } = errorFields(error);
      if (code === undefined) throw error; // the connection is lost, which says nothing about the topology
      missing.push(code === 404 ? `${what} does not exist` : `${what} cannot be checked: ${text}`);
    }
  };
  for (const { name } of topology.exchanges) await check(`exchange ${name}`, (on) => on.checkExchange(name));
  for (const name of topology.queues) await check(`queue ${name}`, (on) => on.checkQueue(name));
  if (channel !== undefined) await close(channel);
  return missing;
}

async function openProbe(connection: ChannelModel, log: Log): Promise<Channel> {
  const channel = await connection.createChannel();
  channel.on('error', (error) => log.debug(errorFields(error), 'passive check failed'));
  return channel;
}

/** Checks on every connection, and again with back-off until nothing is missing. */
export function watchTopology(
  link: Link,
  { topology, log, changed }: { topology: Topology; log: Log; changed: () => void },
): { problems: () => readonly string[] } {
  let problems: readonly string[] = ['topology is not verified yet'];

  const look = async (connection: ChannelModel, gone: AbortSignal): Promise<readonly string[]> => {
    try {
      return await findMissing(connection, topology, log);
    } catch (error) {
      if (!gone.aborted) log.warn(errorFields(error), 'topology cannot be verified');
      return ['topology cannot be verified'];
    }
  };

  const watch = async (connection: ChannelModel, gone: AbortSignal) => {
    for (let failures = 0; !gone.aborted; failures++) {
      const found = await look(connection, gone);
      if (gone.aborted) return;
      if (found.length > 0 && found.join() !== problems.join())
        log.error({ problems: found }, 'topology is incomplete');
      problems = found;
      changed();
      if (found.length === 0) return;
      await sleep(fullJitterMs(failures, BACKOFF), gone);
    }
  };

  link.onConnection((connection, gone) => void watch(connection, gone));
  return { problems: () => problems };
}
