import { randomUUID } from 'node:crypto';
import { QUEUES, type Queue } from '@dueline/contracts';
import { inject } from 'vitest';
import { declareTopology } from './declare.ts';
import { createManagement } from './management.ts';
import type { Log } from './types.ts';

declare module 'vitest' {
  interface ProvidedContext {
    amqpUrl: string;
    amqpManagementUrl: string;
  }
}

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export interface TestVhostOptions {
  /** What to declare; every queue of the contracts when not given, nothing for `[]`. */
  readonly queues?: readonly Queue<unknown>[];
  /** Milliseconds in the retry tier; ten minutes when not given. */
  readonly retryTierMs?: number;
}

export interface TestVhost extends AsyncDisposable {
  readonly url: string;
  readonly managementUrl: string;
}

/** A vhost of the caller's own with the topology declared; disposing deletes it and closes its connections. */
export async function testVhost({ queues = QUEUES, retryTierMs }: TestVhostOptions = {}): Promise<TestVhost> {
  const managementUrl = inject('amqpManagementUrl');
  const name = `test-${randomUUID()}`;
  const target = new URL(inject('amqpUrl'));
  target.pathname = `/${name}`;
  const url = target.href;
  const management = createManagement({ url, managementUrl });
  await management.put(['vhosts', name], {});
  await management.put(['permissions', name, management.user], { configure: '.*', write: '.*', read: '.*' });
  if (queues.length > 0) {
    const tier = retryTierMs === undefined ? {} : { retryTierMs };
    await declareTopology({ url, managementUrl, queues, log: silent, ...tier });
  }
  return { url, managementUrl, [Symbol.asyncDispose]: () => management.delete(['vhosts', name]) };
}
