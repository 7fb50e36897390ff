import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { manageRabbit, ROOT } from '@dueline/demo';
import type { ServiceUrls } from '@dueline/local-services';
import pg from 'pg';

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

export async function readCircumstances(urls: ServiceUrls): Promise<Circumstances> {
  return {
    commit: commitOfTree(),
    at: new Date().toISOString().slice(0, 16).replace('T', ' '),
    machine: `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'processor'}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}, Node ${process.versions.node}`,
    servers: {
      PostgreSQL: await describePostgres(urls.databaseUrl),
      RabbitMQ: `${await rabbitVersion(urls.amqpManagementUrl)}: durable quorum queues of one member, persistent messages, publisher confirms`,
    },
  };
}

async function describePostgres(databaseUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: string; settings: string }>(
      `select current_setting('server_version') as version, string_agg(name || '=' || current_setting(name), ' ' order by name) as settings
         from pg_settings where name = any($1)`,
      [POSTGRES_SETTINGS],
    );
    return `${rows[0]?.version}: ${rows[0]?.settings}`;
  } finally {
    await client.end();
  }
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
