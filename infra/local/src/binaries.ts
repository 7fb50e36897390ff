import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { systemCode } from './errors.ts';

/** Programs of the servers on this machine; undefined where one is not installed. */
export interface Binaries {
  /** Folder with `initdb` and `postgres`. */
  postgres: string | undefined;
  redis: string | undefined;
  rabbitmq: string | undefined;
  epmd: string | undefined;
}

/** Debian keeps these off the PATH: PostgreSQL by version, and RabbitMQ behind a wrapper that insists on its own user and folders. */
const POSTGRES_VERSIONS = '/usr/lib/postgresql';
const RABBITMQ_FOLDERS = ['/usr/lib/rabbitmq/bin', '/opt/homebrew/sbin', '/usr/local/sbin'];
const OLDEST_POSTGRES = 15;

/** PATH for our servers: what the environment says plus where the systems we know put them. */
export function searchPath(env: NodeJS.ProcessEnv): string {
  const usual = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin', '/sbin', '/opt/homebrew/bin', '/opt/homebrew/sbin'];
  return [...(env.PATH ?? '').split(delimiter).filter(Boolean), ...usual].join(delimiter);
}

export function findBinaries(env: NodeJS.ProcessEnv): Binaries {
  const folders = searchPath(env).split(delimiter);
  const rabbitFolder = [...RABBITMQ_FOLDERS, ...folders].find((folder) => isProgram(join(folder, 'rabbitmq-server')));
  return {
    postgres: findPostgres(folders),
    redis: findProgram('redis-server', folders),
    rabbitmq: rabbitFolder && join(rabbitFolder, 'rabbitmq-server'),
    epmd: findProgram('epmd', folders),
  };
}

function findProgram(name: string, folders: readonly string[]): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

function findPostgres(folders: readonly string[]): string | undefined {
  const versions = existsSync(POSTGRES_VERSIONS) ? readdirSync(POSTGRES_VERSIONS) : [];
  const byVersion = versions
    .filter((version) => Number(version) >= OLDEST_POSTGRES)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(POSTGRES_VERSIONS, version, 'bin'));
  const homebrew = ['18', '17', '16', '15'].map((version) => `/opt/homebrew/opt/postgresql@${version}/bin`);
  return [...byVersion, ...homebrew, ...folders].find(
    (folder) => isProgram(join(folder, 'initdb')) && isProgram(join(folder, 'postgres')),
  );
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch (error) {
    if (['ENOENT', 'EACCES', 'ENOTDIR'].includes(systemCode(error) ?? '')) return false;
    throw error;
  }
}
