import type { Stack } from '@dueline/demo';

/** Calls the management API about the vhost of a stack. */
async function manage<Answer>(stack: Stack, method: 'GET' | 'DELETE', path: string): Promise<Answer | undefined> {
  const url = new URL(stack.amqpManagementUrl);
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = '';
  url.password = '';
  const response = await fetch(`${url.href.replace(/\/$/, '')}${path}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(user).toString('base64')}` },
  });
  if (response.status === 404) return undefined; // it ended meanwhile
  if (!response.ok) throw new Error(`RabbitMQ's management API answered ${response.status} to ${method} ${path}`);
  const text = await response.text();
  return text === '' ? undefined : (JSON.parse(text) as Answer);
}

const vhostOf = (stack: Stack): string => new URL(stack.amqpUrl).pathname.slice(1);

async function connectionsOf(stack: Stack): Promise<string[]> {
  const connections = await manage<{ name: string }[]>(stack, 'GET', `/vhosts/${vhostOf(stack)}/connections`);
  return (connections ?? []).map(({ name }) => name);
}

/** How many connections the management of the broker knows of: it learns of new ones within seconds. */
export const countConnections = async (stack: Stack): Promise<number> => (await connectionsOf(stack)).length;

/** Cuts every connection that the management of the broker knows of. */
export async function cutConnections(stack: Stack): Promise<void> {
  for (const name of await connectionsOf(stack))
    await manage(stack, 'DELETE', `/connections/${encodeURIComponent(name)}`);
}

/** Removes every message that no consumer holds. */
export async function purgeQueues(stack: Stack): Promise<void> {
  const queues = await manage<{ name: string }[]>(stack, 'GET', `/queues/${vhostOf(stack)}`);
  for (const { name } of queues ?? [])
    await manage(stack, 'DELETE', `/queues/${vhostOf(stack)}/${encodeURIComponent(name)}/contents`);
}
