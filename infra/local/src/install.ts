import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Binaries } from './binaries.ts';
import { LocalServicesError } from './errors.ts';

/** Debian packages of what is missing. */
export function missingPackages({ postgres, redis, rabbitmq, epmd }: Binaries): string[] {
  return [
    ...(postgres ? [] : ['postgresql']),
    ...(redis ? [] : ['redis-server']),
    ...(rabbitmq && epmd ? [] : ['rabbitmq-server']),
  ];
}

/** True on Debian and its relatives when we may install packages. */
export const mayInstall = (): boolean =>
  process.getuid?.() === 0 && existsSync('/etc/debian_version') && existsSync('/usr/bin/apt-get');

/** The commands a person runs to get `packages`, for the system we are on. */
export function installCommand(packages: readonly string[]): string {
  const sudo = process.getuid?.() === 0 ? '' : 'sudo ';
  if (process.platform !== 'darwin') return `${sudo}apt-get update && ${sudo}apt-get install -y ${packages.join(' ')}`;
  const formulas: Record<string, string> = {
    postgresql: 'postgresql@17',
    'redis-server': 'redis',
    'rabbitmq-server': 'rabbitmq',
  };
  return `brew install ${packages.map((name) => formulas[name] ?? name).join(' ')}`;
}

const CLUSTER_FILE = '/etc/postgresql-common/createcluster.conf';
const CLUSTER_DEFAULT = '/usr/share/postgresql-common/createcluster.conf';
const EPMD = '/usr/bin/epmd';
const POLICY_FILE = '/usr/sbin/policy-rc.d';

/**
 * Installs Debian packages without leaving the machine a server that runs, now or after a restart:
 * we only want the programs, and whoever owns the machine decides about services.
 */
export async function installPackages(packages: readonly string[], log: (line: string) => void): Promise<void> {
  const command = ['install', '-y', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=300'];
  log(`installing ${packages.join(', ')} with apt-get (programs only: no service is started or enabled)`);
  const hadEpmd = existsSync(EPMD);
  const restore = [withoutCluster(packages), withoutAutostart()];
  try {
    await apt(['update', '-q', '-o', 'DPkg::Lock::Timeout=300']);
    await apt([...command, '-o', 'Dpkg::Options::=--force-confold', ...packages]);
  } finally {
    for (const undo of restore) undo();
  }
  for (const name of packages) await quietly('update-rc.d', [name, 'disable'], log);
  // Erlang's package enables its name server; a machine that had it before keeps it as it was.
  if (!hadEpmd && existsSync(EPMD) && existsSync('/usr/bin/systemctl')) {
    await quietly('systemctl', ['disable', 'epmd.socket', 'epmd.service'], log);
  }
}

/** PostgreSQL's package makes and starts a cluster of its own unless this file says no. */
function withoutCluster(packages: readonly string[]): () => void {
  if (!packages.includes('postgresql')) return () => undefined;
  const before = existsSync(CLUSTER_FILE) ? readFileSync(CLUSTER_FILE, 'utf8') : undefined;
  mkdirSync(dirname(CLUSTER_FILE), { recursive: true });
  writeFileSync(CLUSTER_FILE, `${before ?? ''}\ncreate_main_cluster = false\n`);
  return () => {
    if (before !== undefined) writeFileSync(CLUSTER_FILE, before);
    else if (existsSync(CLUSTER_DEFAULT)) copyFileSync(CLUSTER_DEFAULT, CLUSTER_FILE);
    else rmSync(CLUSTER_FILE, { force: true });
  };
}

/** Debian's way to say that no service is to be started; a machine that has a policy keeps it. */
function withoutAutostart(): () => void {
  if (existsSync(POLICY_FILE)) return () => undefined;
  writeFileSync(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  return () => rmSync(POLICY_FILE, { force: true });
}

async function apt(args: readonly string[]): Promise<void> {
  const { code, output } = await outputOf('apt-get', args);
  if (code !== 0) throw new LocalServicesError(`apt-get ${args.join(' ')} failed:\n${output.slice(-3_000)}`);
}

/** A step that is good to have: when it fails, it is said and the start goes on. */
async function quietly(command: string, args: readonly string[], log: (line: string) => void): Promise<void> {
  const { code, output } = await outputOf(command, args);
  if (code !== 0) log(`${command} ${args.join(' ')} failed: ${output.trim().slice(-300)}`);
}

function outputOf(command: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    // RUNLEVEL=1 asks the same as policy-rc.d of packages that do not ask it.
    const env = {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      DEBIAN_FRONTEND: 'noninteractive',
      RUNLEVEL: '1',
      LC_ALL: 'C.UTF-8',
    };
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    let output = '';
    child.stdout.on('data', (chunk) => (output += String(chunk)));
    child.stderr.on('data', (chunk) => (output += String(chunk)));
    child.once('error', (error) => resolve({ code: null, output: error.message }));
    child.once('close', (code) => resolve({ code, output }));
  });
}
