import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Binaries, findBinaries } from './binaries.ts';
import { composeAnswers } from './compose.ts';
import { messageOf } from './errors.ts';
import { installCommand, mayInstall, missingPackages } from './install.ts';
import { freePort } from './ports.ts';
import { staleRuns } from './sweep.ts';
import { unreachable, urlsFromEnvironment } from './urls.ts';

/** One line of the doctor's table. */
export interface Check {
  name: string;
  /** `missing` is something that another row may make up for, `note` is for your information, `blocked` keeps the demo from running. */
  status: 'ok' | 'missing' | 'note' | 'blocked';
  detail: string;
  /** The command that mends it. */
  fix?: string;
}

export interface Diagnosis {
  /** True when the demo and the tests could run here now. */
  ok: boolean;
  checks: Check[];
}

export interface DiagnoseOptions {
  repositoryRoot: string;
  stateFolder: string;
  env: NodeJS.ProcessEnv;
}

const NEEDED_BYTES = 1024 ** 3;

/** Looks at what this machine has for the demo and the tests. Starts, installs and ends nothing. */
export async function diagnose(options: DiagnoseOptions): Promise<Diagnosis> {
  const checks = [
    { name: 'node', status: 'ok', detail: `${process.version} at ${process.execPath}` } satisfies Check,
    await pnpmCheck(options.repositoryRoot),
    ...(await serviceChecks(options.env)),
    await portCheck(),
    await diskCheck(options.stateFolder),
    memoryCheck(),
    staleCheck(options.stateFolder),
  ];
  return { ok: checks.every(({ status }) => status !== 'blocked'), checks };
}

async function pnpmCheck(root: string): Promise<Check> {
  const command = join(root, 'node_modules/.bin/pnpm');
  try {
    const { stdout } = await promisify(execFile)(command, ['--version'], { cwd: root, timeout: 10_000 });
    return { name: 'pnpm', status: 'ok', detail: stdout.trim() };
  } catch (error) {
    return { name: 'pnpm', status: 'missing', detail: messageOf(error), fix: './dueline pnpm install' };
  }
}

/** The three servers, each way to get them, and which of the ways a start would take. */
async function serviceChecks(env: NodeJS.ProcessEnv): Promise<Check[]> {
  const binaries = findBinaries(env);
  const hasCompose = await composeAnswers(env);
  const programs: Check[] = [
    hasCompose
      ? { name: 'docker compose', status: 'ok', detail: 'an engine answers' }
      : {
          name: 'docker compose',
          status: 'missing',
          detail: 'no engine answers',
          fix: 'start Docker, if you want to use it',
        },
    programCheck('postgresql', binaries.postgres, 'postgresql'),
    programCheck('redis', binaries.redis, 'redis-server'),
    programCheck('rabbitmq', binaries.rabbitmq && binaries.epmd && binaries.rabbitmq, 'rabbitmq-server'),
  ];
  return [...programs, await wayCheck(env, { binaries, hasCompose })];
}

function programCheck(name: string, place: string | undefined, debianPackage: string): Check {
  if (place !== undefined) return { name, status: 'ok', detail: place };
  return { name, status: 'missing', detail: 'not installed', fix: installCommand([debianPackage]) };
}

async function wayCheck(
  env: NodeJS.ProcessEnv,
  { binaries, hasCompose }: { binaries: Binaries; hasCompose: boolean },
): Promise<Check> {
  const name = 'services';
  const forced = env.DUELINE_SERVICES;
  const ok = (detail: string): Check => ({ name, status: 'ok', detail });
  const blocked = (detail: string, fix: string): Check => ({ name, status: 'blocked', detail, fix });
  const allowed = (way: string) => !forced || forced === way;
  try {
    const urls = allowed('environment') ? urlsFromEnvironment(env) : undefined;
    if (urls) {
      const problems = await unreachable(urls);
      if (problems.length === 0) return ok('those of the environment');
      return blocked(problems.join('; '), 'unset DATABASE_URL AMQP_URL AMQP_MANAGEMENT_URL REDIS_URL');
    }
  } catch (error) {
    return blocked(messageOf(error), 'unset DATABASE_URL AMQP_URL AMQP_MANAGEMENT_URL REDIS_URL');
  }
  if (allowed('compose') && hasCompose) return ok('containers of docker compose');
  const missing = missingPackages(binaries);
  if (allowed('private') && missing.length === 0) return ok('private instances of the installed servers');
  if (allowed('private') && mayInstall()) return ok(`private instances, after apt-get installs ${missing.join(', ')}`);
  if (forced) return blocked(`DUELINE_SERVICES=${forced} cannot work here`, 'unset DUELINE_SERVICES');
  return blocked('there is no way to start them', installCommand(missing));
}

async function portCheck(): Promise<Check> {
  try {
    await freePort();
    return { name: 'ports', status: 'ok', detail: 'free ports on 127.0.0.1' };
  } catch (error) {
    return { name: 'ports', status: 'blocked', detail: messageOf(error), fix: 'ip link set lo up' };
  }
}

async function diskCheck(stateFolder: string): Promise<Check> {
  const folder = existsSync(stateFolder) ? stateFolder : dirname(stateFolder);
  const { bavail, bsize } = await statfs(folder);
  const detail = `${gibibytes(bavail * bsize)} free below ${folder}`;
  if (bavail * bsize >= NEEDED_BYTES) return { name: 'disk', status: 'ok', detail };
  return {
    name: 'disk',
    status: 'blocked',
    detail: `${detail}; 1 GiB is needed`,
    fix: `free some space: df -h ${folder}`,
  };
}

function memoryCheck(): Check {
  const bytes = process.availableMemory();
  if (bytes === 0) return { name: 'memory', status: 'ok', detail: 'unknown: the system does not tell' };
  const detail = `${gibibytes(bytes)} available`;
  if (bytes >= NEEDED_BYTES) return { name: 'memory', status: 'ok', detail };
  return { name: 'memory', status: 'missing', detail: `${detail}; 1 GiB is advised`, fix: 'end other programs' };
}

function staleCheck(stateFolder: string): Check {
  const runs = staleRuns(stateFolder);
  if (runs.length === 0) return { name: 'stale servers', status: 'ok', detail: 'none' };
  const detail = `${runs.length} killed run(s) left something; the next start ends and removes it`;
  return { name: 'stale servers', status: 'note', detail };
}

const gibibytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
