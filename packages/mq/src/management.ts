import { TransientError } from '@dueline/kernel';

const REQUEST_TIMEOUT_MS = 10_000;

export interface BrokerAddress {
  /** AMQP URL: its path is the vhost, its user the default for the management API. */
  readonly url: string;
  /** HTTP(S) URL of the management API, with or without `/api` and user. */
  readonly managementUrl: string;
}

export interface Management {
  readonly vhost: string;
  readonly user: string;
  get(path: readonly string[]): Promise<unknown>;
  put(path: readonly string[], body: object): Promise<void>;
  delete(path: readonly string[]): Promise<void>;
}

/** A client of the few calls we need. Paths come as segments and are encoded here. */
export function createManagement({ url, managementUrl }: BrokerAddress): Management {
  const amqp = new URL(url);
  const target = new URL(managementUrl);
  const user = decodeURIComponent(target.username || amqp.username || 'guest');
  const password = decodeURIComponent(target.password || amqp.password || 'guest');
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const base = `${target.origin}${target.pathname.replace(/\/(api\/?)?$/, '')}/api`;

  const request = async (method: string, path: readonly string[], body?: object) => {
    const response = await send(`${base}/${path.map(encodeURIComponent).join('/')}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) {
      const context = { method, path: path.join('/'), status: response.status };
      throw new TransientError(`RabbitMQ management API refused: ${await response.text()}`, { context });
    }
    return response;
  };

  return {
    vhost: amqp.pathname.length > 1 ? decodeURIComponent(amqp.pathname.slice(1)) : '/',
    user,
    get: async (path) => (await request('GET', path)).json(),
    put: async (path, body) => {
      await (await request('PUT', path, body)).arrayBuffer();
    },
    delete: async (path) => {
      await (await request('DELETE', path)).arrayBuffer();
    },
  };
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (cause) {
    throw new TransientError('RabbitMQ management API cannot be reached', { cause });
  }
}
