import { type Binaries, findBinaries, searchPath } from './binaries.ts';
import { LocalServicesError, PortTakenError } from './errors.ts';
import { missingPackages } from './install.ts';
import { type Durability, startPostgres } from './postgres.ts';
import { startRabbit } from './rabbitmq.ts';
import { type RedisServer, startRedis } from './redis.ts';
import { openRun, type Run } from './run.ts';
import type { PrivateServer } from './server.ts';
import type { ServiceUrls } from './urls.ts';

/** PostgreSQL, RabbitMQ and Redis of the caller's own. */
export interface PrivateServices {
  urls: ServiceUrls;
  postgres: PrivateServer;
  rabbitmq: PrivateServer;
  redis: RedisServer;
  /** Ends them and removes their data. May be called again. */
  stop(): Promise<void>;
}

/** The Debian packages of servers that are not installed on this machine; without these, there can be no private ones. */
export const missingServers = (env: NodeJS.ProcessEnv): string[] => missingPackages(findBinaries(env));

/**
 * Starts servers of the caller's own, to be ended and started again: what was committed and confirmed outlives a kill.
 *
 * @param options.stateFolder A folder that git ignores, for data and records of what runs.
 * @param options.acknowledgementTimeoutMs How long RabbitMQ waits for an acknowledgement before it closes the channel; RabbitMQ's 30
 *   minutes when not given.
 * @throws LocalServicesError when one is not installed or does not start.
 */
export const startKillable = ({
  env,
  ...options
}: {
  stateFolder: string;
  env: NodeJS.ProcessEnv;
  acknowledgementTimeoutMs?: number;
}) => startPrivate({ ...options, env, binaries: findBinaries(env), durability: 'server' });

/**
 * Starts servers of the caller's own that are set as in production: what is committed is on the disk.
 *
 * @param options.stateFolder A folder that git ignores, for data and records of what runs.
 * @throws LocalServicesError when one is not installed or does not start.
 */
export const startDurable = ({ stateFolder, env }: { stateFolder: string; env: NodeJS.ProcessEnv }) =>
  startPrivate({ stateFolder, env, binaries: findBinaries(env), durability: 'machine' });

/** Starts the installed servers with data, ports and passwords of their own; when one fails, the others end too. */
export async function startPrivate({
  stateFolder,
  env,
  binaries,
  durability = 'none',
  ...broker
}: {
  stateFolder: string;
  env: NodeJS.ProcessEnv;
  binaries: Binaries;
  durability?: Durability;
  acknowledgementTimeoutMs?: number;
}): Promise<PrivateServices> {
  const { postgres, redis, rabbitmq, epmd } = binaries;
  if (!postgres || !redis || !rabbitmq || !epmd) throw new LocalServicesError('not all servers are installed');
  const run = openRun({ stateFolder, path: searchPath(env) });
  const starts = [
    again('postgres', (name) => startPostgres(run, { name, binFolder: postgres, durability })),
    again('redis', (name) => startRedis(run, { name, command: redis })),
    again('rabbitmq', (name) => startRabbit(run, { name, command: rabbitmq, epmd, ...broker })),
  ] as const;
  try {
    const [{ databaseUrl, server }, { redisUrl, server: redisServer }, rabbit] = await Promise.all(starts);
    const urls = { databaseUrl, redisUrl, ...rabbit.urls };
    return { urls, postgres: server, redis: redisServer, rabbitmq: rabbit.server, stop: () => run.end() };
  } catch (error) {
    await endAfterFailure(run, starts);
    throw error;
  }
}

async function endAfterFailure(run: Run, starts: readonly Promise<unknown>[]): Promise<void> {
  await run.end();
  await Promise.allSettled(starts); // the siblings fail as their processes end; the first failure is the one to report
}

/** A port that was free may be taken when the server gets to it: try with others, in a new folder. */
async function again<Result>(name: string, start: (name: string) => Promise<Result>, attempt = 1): Promise<Result> {
  try {
    return await start(`${name}-${attempt}`);
  } catch (error) {
    if (attempt >= 3 || !(error instanceof PortTakenError)) throw error;
    return again(name, start, attempt + 1);
  }
}
