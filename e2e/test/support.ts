import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { createRule } from '@dueline/trigger-rules';
import { inject } from 'vitest';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The environment in which the demo uses the services of this test run instead of starting its own. */
export function serviceEnvironment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    DATABASE_URL: inject('postgresUrl'),
    AMQP_URL: inject('amqpUrl'),
    AMQP_MANAGEMENT_URL: inject('amqpManagementUrl'),
    REDIS_URL: inject('redisUrl'),
    DUELINE_SERVICES: 'environment', // those of the whole run: whoever inherits `private` starts servers of its own
  };
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
export async function run(
  command: string,
  args: readonly string[],
  { env, cwd = ROOT, onStart }: { env?: NodeJS.ProcessEnv; cwd?: string; onStart?: (groupId: number) => void } = {},
): Promise<Finished> {
  const detached = onStart !== undefined; // a process group of its own, by which what it leaves running can be ended
  const child = spawn(command, args, { cwd, env: env ?? process.env, stdio: ['ignore', 'pipe', 'pipe'], detached });
  if (child.pid !== undefined) onStart?.(child.pid);
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, ...output };
}

/** A rule that answers any change of `city` at once. */
export const createCityRule = (db: Db, tenant: Tenant): Promise<string> =>
  createRule(db, tenant, {
    name: 'city',
    sourceType: 'attribute_changed',
    sourceConfig: { attribute: 'city' },
    actionType: 'send_message',
    actionConfig: { messages: [{ type: 'text', text: 'hello' }] },
    frequency: 'every_time',
  });
