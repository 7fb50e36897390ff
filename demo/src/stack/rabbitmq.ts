/** Where a vhost is, and the management API that knows it. */
export interface Vhost {
  /** With the vhost as its path. */
  readonly amqpUrl: string;
  readonly amqpManagementUrl: string;
}

/** Calls RabbitMQ's management API. @returns Undefined when there is nothing (any more) at that path. */
export async function manageRabbit<Answer>(
  managementUrl: string,
  method: 'GET' | 'PUT' | 'DELETE',
  path: string,
): Promise<Answer | undefined> {
  const url = new URL(managementUrl);
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = '';
  url.password = '';
  const response = await fetch(`${url.href.replace(/\/$/, '')}${path}`, {
    method,
    headers: { authorization: `Basic ${Buffer.from(user).toString('base64')}` },
  });
  const text = await response.text();
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`RabbitMQ's management API answered ${response.status} to ${method} ${path}`);
  return text === '' ? undefined : (JSON.parse(text) as Answer);
}

const vhostOf = (vhost: Vhost): string => new URL(vhost.amqpUrl).pathname.slice(1);

async function connectionsOf(vhost: Vhost): Promise<string[]> {
  const connections = await manageRabbit<{ name: string }[]>(
    vhost.amqpManagementUrl,
    'GET',
    `/vhosts/${vhostOf(vhost)}/connections`,
  );
  return (connections ?? []).map(({ name }) => name);
}

/** How many connections the management of the broker knows of: it learns of new ones within seconds. */
export const countConnections = async (vhost: Vhost): Promise<number> => (await connectionsOf(vhost)).length;

/** Cuts every connection that the management of the broker knows of. */
export async function cutConnections(vhost: Vhost): Promise<void> {
  for (const name of await connectionsOf(vhost))
    await manageRabbit(vhost.amqpManagementUrl, 'DELETE', `/connections/${encodeURIComponent(name)}`);
}

/** Removes every message that no consumer holds. */
export async function purgeQueues(vhost: Vhost): Promise<void> {
  const queues = await manageRabbit<{ name: string }[]>(vhost.amqpManagementUrl, 'GET', `/queues/${vhostOf(vhost)}`);
  for (const { name } of queues ?? [])
    await manageRabbit(
      vhost.amqpManagementUrl,
      'DELETE',
      `/queues/${vhostOf(vhost)}/${encodeURIComponent(name)}/contents`,
    );
}
