import type { Stack } from '@dueline/demo';
import type { Sample } from './read-messages.ts';

const TAP = 'tap';
const EXCHANGES = ['dueline.commands', 'dueline.events'];
/** More than any of these stories sends. */
const MOST = 100_000;

interface Tapped {
  readonly routing_key: string;
  readonly payload: string;
}

/** A copy of every message that is published from here on, for as long as the vhost is there. */
export interface Tap {
  /** Takes what has come since the last time: one message of each queue, the newest. */
  take(): Promise<Sample[]>;
}

export async function openTap({
  amqpUrl,
  amqpManagementUrl,
}: Pick<Stack, 'amqpUrl' | 'amqpManagementUrl'>): Promise<Tap> {
  const vhost = new URL(amqpUrl).pathname.slice(1);
  const url = new URL(amqpManagementUrl);
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = '';
  url.password = '';
  const call = async (method: 'PUT' | 'POST', path: string, body: object): Promise<string> => {
    const response = await fetch(`${url.href.replace(/\/$/, '')}${path}`, {
      method,
      headers: { authorization: `Basic ${Buffer.from(user).toString('base64')}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`RabbitMQ's management API answered ${response.status} to ${path}: ${text}`);
    return text;
  };
  await call('PUT', `/queues/${vhost}/${TAP}`, { durable: true });
  for (const exchange of EXCHANGES)
    await call('POST', `/bindings/${vhost}/e/${exchange}/q/${TAP}`, { routing_key: '#' });
  return {
    take: async () => {
      const query = { count: MOST, ackmode: 'ack_requeue_false', encoding: 'base64' };
      const tapped = JSON.parse(await call('POST', `/queues/${vhost}/${TAP}/get`, query)) as Tapped[];
      const newest = new Map(tapped.map(({ routing_key: queue, payload: body }) => [queue, { queue, body }]));
      return [...newest.values()].sort((one, other) => one.queue.localeCompare(other.queue));
    },
  };
}
