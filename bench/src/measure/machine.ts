import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import type { Db } from '@dueline/db';
import { manageRabbit, ROOT } from '@dueline/demo';

/** Where and with what something was measured. */
export interface Circumstances {
  /** Of the commit, and `+` when the working tree differs from it. */
  readonly commit: string;
  readonly at: string;
  readonly machine: string;
  /** By server: version and the settings that matter. */
  readonly servers: Readonly<Record<string, string>>;
}

/** What decides how fast PostgreSQL commits and cleans up. */
const POSTGRES_SETTINGS = [
  ...['fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'shared_buffers', 'max_wal_size'],
  ...['checkpoint_timeout', 'autovacuum', 'jit'],
];

export async function readCircumstances(db: Db, amqpManagementUrl: string): Promise<Circumstances> {
  const { rows } = await db.$client.query<{ name: string; setting: string }>(
    'select name, current_setting(name) as setting from pg_settings where name = any($1) order by name',
    [POSTGRES_SETTINGS],
  );
  const version = await db.$client.query<{ version: string }>("select current_setting('server_version') as version");
  const settings = rows.map(({ name, setting }) => `${name}=${setting}`).join(' ');
  return {
    commit: commitOfTree(),
    at: new Date().toISOString().slice(0, 16).replace('T', ' '),
    machine: `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.versions.node}`,
    servers: {
      PostgreSQL: `${version.rows[0]?.version}: ${settings}`,
      RabbitMQ: `${await rabbitVersion(amqpManagementUrl)}: durable quorum queues of one member, persistent messages, publisher confirms`,
    },
  };
}

function commitOfTree(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', '--', ':!docs') === '' ? '' : '+'}`;
}

async function rabbitVersion(managementUrl: string): Promise<string> {
  const overview = await manageRabbit<Record<'rabbitmq_version' | 'erlang_version', string>>(
    managementUrl,
    'GET',
    '/overview',
  );
  return `${overview?.rabbitmq_version} (Erlang ${overview?.erlang_version})`;
}
