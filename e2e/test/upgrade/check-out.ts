import { execFile } from 'node:child_process';
import { mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '@dueline/demo';

/** Runs a command to its end and returns what it wrote. @throws Error with all of that when it fails. */
export const execute = promisify(execFile);

const PNPM = join(ROOT, 'node_modules/.bin/pnpm');
const INSTALL = ['install', '--frozen-lockfile', '--prod', '--ignore-scripts', '--config.trustLockfile=true'];

/**
 * Puts the sources of a commit into a folder of their own, with the packages of its lockfile. The caller removes it.
 *
 * @param also What is installed besides the apps, as pnpm's filters name it.
 * @throws Error when the commit is not there, or its packages are neither in pnpm's store nor to be had.
 */
export async function checkOut(commit: string, also: readonly string[] = []): Promise<string> {
  const cwd = await realpath(await mkdtemp(join(tmpdir(), 'dueline-release-')));
  await execute('sh', ['-c', 'git archive "$0" | tar -x -C "$1"', commit, cwd], { cwd: ROOT });
  const filters = ['{./apps/*}...', ...also].flatMap((filter) => ['--filter', filter]);
  try {
    // Whoever installed the working tree has these packages in the store, unless a dependency has changed since.
    await execute(PNPM, [...INSTALL, '--offline', ...filters], { cwd });
  } catch {
    await execute(PNPM, [...INSTALL, '--prefer-offline', ...filters], { cwd });
  }
  return cwd;
}
