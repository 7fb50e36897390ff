import { findBinaries } from './binaries.ts';
import { composeAnswers, startCompose } from './compose.ts';
import { LocalServicesError, messageOf } from './errors.ts';
import { installCommand, installPackages, mayInstall, missingPackages } from './install.ts';
import { startPrivate } from './private.ts';
import { sweepStale } from './sweep.ts';
import { type ServiceUrls, unreachable, urlsFromEnvironment } from './urls.ts';

/** PostgreSQL, RabbitMQ and Redis, ready for use. */
export interface Services {
  urls: ServiceUrls;
  /** Who runs them: somebody else, docker compose, or we ourselves. */
  source: 'environment' | 'compose' | 'private';
  /** Ends what was started and removes its data; does nothing to services of the environment. May be called again. */
  stop(): Promise<void>;
}

export interface ProvideOptions {
  /** A folder that git ignores, for data and records of what runs. */
  stateFolder: string;
  /** DATABASE_URL, AMQP_URL, AMQP_MANAGEMENT_URL and REDIS_URL to use what runs already; DUELINE_SERVICES to force one way. */
  env: NodeJS.ProcessEnv;
  log: (line: string) => void;
}

type Way = Services['source'];

/**
 * Finds or starts the three services: URLs from the environment, else docker compose where an engine answers, else
 * servers installed on this machine as private instances, installing them first on Debian as root.
 *
 * What an earlier, killed run left is ended first. Live runs next to this one are not disturbed.
 *
 * @throws LocalServicesError with the commands to run when there is no way, or when the environment contradicts itself.
 */
export async function provideServices(options: ProvideOptions): Promise<Services> {
  const { env, log } = options;
  const way = forcedWay(env);
  if (way === undefined || way === 'environment') {
    const urls = urlsFromEnvironment(env);
    if (urls) return useExisting(urls);
    if (way) throw new LocalServicesError('DUELINE_SERVICES=environment, but DATABASE_URL and the others are not set');
  }
  for (const line of await sweepStale(options.stateFolder)) log(`left by a killed run: ${line}`);
  if (way === 'compose') return { source: 'compose', ...(await startCompose(options)) };
  if (way === undefined && (await composeAnswers(env))) {
    try {
      return { source: 'compose', ...(await startCompose(options)) };
    } catch (error) {
      log(`docker compose could not start the services, trying servers of this machine: ${messageOf(error)}`);
    }
  }
  return provideInstalled(options);
}

async function provideInstalled(options: ProvideOptions): Promise<Services> {
  const missing = missingPackages(findBinaries(options.env));
  if (missing.length > 0) {
    if (!mayInstall()) throw new LocalServicesError(howToGet(missing));
    await installPackages(missing, options.log);
  }
  const { urls, stop } = await startPrivate({ ...options, binaries: findBinaries(options.env) });
  return { source: 'private', urls, stop };
}

async function useExisting(urls: ServiceUrls): Promise<Services> {
  const problems = await unreachable(urls);
  if (problems.length > 0) throw new LocalServicesError(problems.join('\n'));
  return { urls, source: 'environment', stop: async () => undefined };
}

function forcedWay(env: NodeJS.ProcessEnv): Way | undefined {
  const way = env.DUELINE_SERVICES;
  if (!way) return undefined;
  if (way === 'environment' || way === 'compose' || way === 'private') return way;
  throw new LocalServicesError('DUELINE_SERVICES may be environment, compose or private');
}

const howToGet = (packages: readonly string[]): string =>
  [
    `PostgreSQL, RabbitMQ and Redis are needed, and this machine has no container engine and no ${packages.join(', ')}.`,
    'One of these helps:',
    `  ${installCommand(packages)}`,
    '  start Docker (docker compose is then used by itself)',
    '  set DATABASE_URL, AMQP_URL, AMQP_MANAGEMENT_URL and REDIS_URL to services that run already',
  ].join('\n');
