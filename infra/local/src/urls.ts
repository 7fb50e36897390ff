import { LocalServicesError } from './errors.ts';
import { canConnect } from './ports.ts';

/** Where the three services listen. */
export interface ServiceUrls {
  /** PostgreSQL, at the database `postgres`, as a role that may create databases. */
  databaseUrl: string;
  /** RabbitMQ over AMQP, without a path: the virtual host `/`. */
  amqpUrl: string;
  /** The management API of RabbitMQ with its credentials, ending in `/api`. */
  amqpManagementUrl: string;
  redisUrl: string;
}

const VARIABLES = {
  databaseUrl: 'DATABASE_URL',
  amqpUrl: 'AMQP_URL',
  amqpManagementUrl: 'AMQP_MANAGEMENT_URL',
  redisUrl: 'REDIS_URL',
} as const satisfies Record<keyof ServiceUrls, string>;

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'amqp:': 5672,
  'amqps:': 5671,
  'redis:': 6379,
  'rediss:': 6379,
  'http:': 80,
  'https:': 443,
};

/** The URLs that the environment gives; undefined when it gives none. Some but not all is an error that names the missing ones. */
export function urlsFromEnvironment(env: NodeJS.ProcessEnv): ServiceUrls | undefined {
  const names = Object.values(VARIABLES);
  const missing = names.filter((name) => !env[name]);
  if (missing.length === names.length) return undefined;
  if (missing.length > 0) {
    const given = names.filter((name) => env[name]);
    throw new LocalServicesError(
      `the environment gives ${given.join(', ')} but not ${missing.join(', ')}: set all four, or none to have them started`,
    );
  }
  const value = (key: keyof ServiceUrls) => env[VARIABLES[key]] ?? '';
  return {
    databaseUrl: value('databaseUrl'),
    amqpUrl: value('amqpUrl'),
    amqpManagementUrl: value('amqpManagementUrl'),
    redisUrl: value('redisUrl'),
  };
}

/** Returns one line for each URL where nothing listens; never with credentials in it. */
export async function unreachable(urls: ServiceUrls): Promise<string[]> {
  const keys = Object.keys(VARIABLES) as (keyof ServiceUrls)[];
  const problems = await Promise.all(keys.map((key) => problemOf(VARIABLES[key], urls[key])));
  return problems.filter((problem) => problem !== undefined);
}

async function problemOf(name: string, text: string): Promise<string | undefined> {
  if (!URL.canParse(text)) return `${name} is not a URL`;
  const url = new URL(text);
  const port = Number(url.port) || DEFAULT_PORTS[url.protocol];
  if (port === undefined) return `${name}: ${url.protocol} is not a protocol we know`;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return (await canConnect({ host, port, timeoutMs: 5_000 }))
    ? undefined
    : `${name}: nothing answers at ${host} port ${port}`;
}
