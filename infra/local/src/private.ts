import { type Binaries, searchPath } from './binaries.ts';
import { LocalServicesError, PortTakenError } from './errors.ts';
import { startPostgres } from './postgres.ts';
import { startRabbit } from './rabbitmq.ts';
import { startRedis } from './redis.ts';
import { openRun, type Run } from './run.ts';
import type { ServiceUrls } from './urls.ts';

/** Starts the installed servers with data, ports and passwords of their own; when one fails, the others end too. */
export async function startPrivate({
  stateFolder,
  env,
  binaries,
}: {
  stateFolder: string;
  env: NodeJS.ProcessEnv;
  binaries: Binaries;
}): Promise<{ urls: ServiceUrls; stop: () => Promise<void> }> {
  const { postgres, redis, rabbitmq, epmd } = binaries;
  if (!postgres || !redis || !rabbitmq || !epmd) throw new LocalServicesError('not all servers are installed');
  const run = openRun({ stateFolder, path: searchPath(env) });
  const starts = [
    again('postgres', (name) => startPostgres(run, { name, binFolder: postgres })),
    again('redis', (name) => startRedis(run, { name, command: redis })),
    again('rabbitmq', (name) => startRabbit(run, { name, command: rabbitmq, epmd })),
  ] as const;
  try {
    const [databaseUrl, redisUrl, rabbit] = await Promise.all(starts);
    return { urls: { databaseUrl, redisUrl, ...rabbit }, stop: () => run.end() };
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
