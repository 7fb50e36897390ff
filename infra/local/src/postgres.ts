import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { messageOf } from './errors.ts';
import { freePort } from './ports.ts';
import { type LaunchOptions, waitUntilDone } from './processes.ts';
import type { Run } from './run.ts';
import { type PrivateServer, startServer } from './server.ts';

/** Made for data that may be lost: nothing waits for the disk. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '300',
  shared_buffers: '256MB',
  checkpoint_timeout: '1h',
  max_wal_size: '4GB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
} as const;

/** What a commit outlives: nothing, the death of the server, or that of the machine, as in production. */
export type Durability = 'none' | 'server' | 'machine';

const DURABLE: Readonly<Record<Durability, Readonly<Record<string, string>>>> = {
  none: {},
  server: { synchronous_commit: 'on' },
  machine: {
    ...{ fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on', wal_level: 'replica' },
    ...{ shared_buffers: '2GB', max_wal_size: '8GB', checkpoint_timeout: '5min' },
  },
};

/**
 * Starts an empty PostgreSQL with a random password; the URL is that of its database `postgres`.
 *
 * @param options.durability `none` unless given.
 */
export async function startPostgres(
  run: Run,
  { name, binFolder, durability = 'none' }: { name: string; binFolder: string; durability?: Durability },
): Promise<{ databaseUrl: string; server: PrivateServer }> {
  const folder = run.makeFolder(name);
  const data = join(folder, 'data');
  const password = randomBytes(12).toString('hex');
  const passwordFile = join(folder, 'password');
  run.writeFile(passwordFile, `${password}\n`);
  const locale = process.platform === 'darwin' ? 'C' : 'C.UTF-8';
  const initdb = run.launch({
    name: 'initdb',
    command: join(binFolder, 'initdb'),
    args: [
      ...['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`],
      ...['-E', 'UTF8', `--locale=${locale}`, '--no-sync', '--no-instructions'],
    ],
    folder,
  });
  await waitUntilDone(initdb);
  const port = await freePort();
  const settings = { ...SETTINGS, ...DURABLE[durability], port };
  const databaseUrl = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  const options: LaunchOptions = {
    name: 'PostgreSQL',
    command: join(binFolder, 'postgres'),
    args: ['-D', data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])],
    folder,
    endSignal: 'SIGQUIT', // at once, but it still gives its shared memory back
  };
  return { databaseUrl, server: await startServer(run, options, () => problemOf(databaseUrl)) };
}

/** The random password also tells our server from one that took the port first. */
async function problemOf(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined); // the answer below says it; a late socket error would end the process
  try {
    await client.connect();
    await client.query('select 1');
    return undefined;
  } catch (error) {
    return messageOf(error);
  } finally {
    await client.end();
  }
}
