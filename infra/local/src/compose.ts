import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { LocalServicesError } from './errors.ts';
import { freePort } from './ports.ts';
import { registerRun, removeRun } from './run.ts';
import type { ServiceUrls } from './urls.ts';

const run = promisify(execFile);

/** The first start may have to fetch the images. */
const UP_TIMEOUT_MS = 600_000;

const composeFile = join(dirname(dirname(dirname(import.meta.dirname))), 'docker-compose.yml');

/** True when a container engine answers and has the compose plugin. */
export async function composeAnswers(env: NodeJS.ProcessEnv): Promise<boolean> {
  const answers = await Promise.allSettled([
    run('docker', ['info', '--format', '{{.ServerVersion}}'], { timeout: 5_000, env }),
    run('docker', ['compose', 'version'], { timeout: 5_000, env }),
  ]);
  return answers.every((answer) => answer.status === 'fulfilled');
}

/** Starts the services of docker-compose.yml as a project of their own, on free loopback ports. `stop` also removes their data. */
export async function startCompose({
  stateFolder,
  env,
}: {
  stateFolder: string;
  env: NodeJS.ProcessEnv;
}): Promise<{ urls: ServiceUrls; stop: () => Promise<void> }> {
  const project = `dueline-${randomBytes(4).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  const ports = {
    DUELINE_POSTGRES_PORT: await freePort(),
    DUELINE_REDIS_PORT: await freePort(),
    DUELINE_AMQP_PORT: await freePort(),
    DUELINE_AMQP_MANAGEMENT_PORT: await freePort(),
  };
  const { runFolder, record } = registerRun(stateFolder, { account: undefined, composeProject: project });
  const stop = async () => {
    await endComposeProject(project, env);
    removeRun(runFolder, record.folder);
  };
  try {
    await run('docker', ['compose', 'version'], { timeout: 5_000, env }); // before anything is made that would have to be removed
  } catch (cause) {
    removeRun(runFolder, record.folder);
    throw new LocalServicesError(
      'docker compose does not answer: install the engine and its compose plugin, or let DUELINE_SERVICES choose another way',
      { cause },
    );
  }
  try {
    await run('docker', ['compose', '-p', project, '-f', composeFile, 'up', '--detach', '--wait'], {
      timeout: UP_TIMEOUT_MS,
      env: {
        ...env,
        COMPOSE_PROFILES: '', // the servers alone, whatever else a person has running
        ...Object.fromEntries(Object.entries(ports).map(([key, port]) => [key, String(port)])),
        DUELINE_DEVELOPMENT_PASSWORD: password,
      },
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    stop,
    urls: {
      databaseUrl: `postgres://postgres:${password}@127.0.0.1:${ports.DUELINE_POSTGRES_PORT}/postgres`,
      amqpUrl: `amqp://dueline:${password}@127.0.0.1:${ports.DUELINE_AMQP_PORT}`,
      amqpManagementUrl: `http://dueline:${password}@127.0.0.1:${ports.DUELINE_AMQP_MANAGEMENT_PORT}/api`,
      redisUrl: `redis://:${password}@127.0.0.1:${ports.DUELINE_REDIS_PORT}`,
    },
  };
}

/** Removes the containers, their network and their data; fine when there are none. */
export async function endComposeProject(project: string, env?: NodeJS.ProcessEnv): Promise<void> {
  // The file asks for a password whatever is done with it.
  const command = ['docker', 'compose', '-p', project, '-f', composeFile, 'down', '--volumes', '--timeout', '2'];
  await run('env', ['DUELINE_DEVELOPMENT_PASSWORD=unused', ...command], { timeout: 60_000, ...(env && { env }) });
}
