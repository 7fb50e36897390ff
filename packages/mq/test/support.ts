import type { Ticket, Tickets } from '@dueline/contracts';
import { type ChannelModel, connect, type GetMessage } from 'amqplib';
import { onTestFinished } from 'vitest';
import {
  type Broker,
  type BrokerEvent,
  connectBroker,
  DONE,
  type Handler,
  type IncomingMessage,
  type Log,
  type OutgoingMessage,
} from '../src/index.ts';
import { createManagement } from '../src/management.ts';
import { type TestVhost, type TestVhostOptions, testVhost } from '../src/testing.ts';
import { TEST_QUEUES } from './queues.ts';

export const TENANT = { organizationId: '1', lineOaId: '2' };

export const ticketOf = (id: number): Ticket => ({ id: String(id), fence: '1' });

export const messageOf = (id: number): OutgoingMessage<Tickets> => ({
  tenant: TENANT,
  data: { tickets: [ticketOf(id)] },
});

export const idOf = ({ data }: { data: Tickets }): number => Number(data.tickets[0]?.id);

/** A handler that notes what `pick` takes from each message. */
export function collect<T>(into: T[], pick: (message: IncomingMessage<Tickets>) => T): Handler<Tickets> {
  return async (message) => {
    into.push(pick(message));
    return DONE;
  };
}

export interface LogLine {
  readonly level: keyof Log;
  readonly fields: object;
  readonly message: string;
}

export function recordingLog(): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: keyof Log) => (fields: object, message: string) => void lines.push({ level, fields, message });
  return { lines, log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } };
}

export interface Setup {
  readonly vhost: TestVhost;
  readonly broker: Broker;
  readonly lines: LogLine[];
  readonly events: BrokerEvent[];
}

interface SetupOptions extends TestVhostOptions {
  readonly url?: (vhost: TestVhost) => string;
  readonly heartbeatSeconds?: number;
  readonly publishTimeoutMs?: number;
  readonly appId?: string;
}

/** A vhost of the test's own and a broker on it that is ready; both end with the test. */
export async function setUp({ url, queues = TEST_QUEUES, retryTierMs, ...options }: SetupOptions = {}): Promise<Setup> {
  const vhost = await testVhost({ queues, ...(retryTierMs === undefined ? {} : { retryTierMs }) });
  onTestFinished(() => vhost[Symbol.asyncDispose]());
  const { log, lines } = recordingLog();
  const events: BrokerEvent[] = [];
  const broker = connectBroker({
    url: url?.(vhost) ?? vhost.url,
    appId: 'mq-test',
    log,
    queues,
    onEvent: (event) => void events.push(event),
    ...options,
  });
  onTestFinished(() => broker.close());
  await broker.ready();
  return { vhost, broker, lines, events };
}

/** A plain connection for what a test does as an operator or as a foreign publisher. */
export async function operator(vhost: TestVhost): Promise<ChannelModel> {
  const connection = await connect(vhost.url);
  connection.on('error', () => {}); // the vhost may be deleted first
  onTestFinished(() => connection.close().catch(() => {}));
  return connection;
}

/** Takes one message off a queue, waiting for it. */
export async function takeFrom(connection: ChannelModel, queue: string): Promise<GetMessage> {
  const channel = await connection.createChannel();
  const found = await eventually(async () => (await channel.get(queue, { noAck: true })) || undefined);
  await channel.close();
  return found;
}

/** The first answer of `look` that is not undefined. */
export async function eventually<T>(look: () => Promise<T | undefined> | T | undefined, ms = 15_000): Promise<T> {
  for (const end = Date.now() + ms; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 15))) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error('the awaited condition did not come true');
}

/** Closes all connections of the vhost as an operator does. The API learns of a connection a moment after it opened. */
export async function closeConnections(vhost: TestVhost, count: number): Promise<void> {
  const management = createManagement(vhost);
  const names = await eventually(async () => {
    const rows = await management.get(['vhosts', management.vhost, 'connections']);
    return Array.isArray(rows) && rows.length >= count ? rows.map((row: { name: string }) => row.name) : undefined;
  });
  for (const name of names) await management.delete(['connections', name]);
}

export const until = (isTrue: () => boolean, ms?: number): Promise<true> =>
  eventually(() => (isTrue() ? true : undefined), ms);
