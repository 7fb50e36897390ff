import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, globSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '@dueline/kernel';

/** Programs that watch, by their Debian packages. */
const PACKAGES = {
  prometheus: ['prometheus', 'promtool'],
  'prometheus-postgres-exporter': ['prometheus-postgres-exporter'],
} as const;

const FOLDERS = ['/usr/local/bin', '/usr/bin', '/opt/homebrew/bin'];

export type WatchingPackage = keyof typeof PACKAGES;

/** The path of each program of a package, by its name; or why there are none. */
export type Programs = { readonly paths: Readonly<Record<string, string>> } | { readonly missing: string };

/**
 * The programs of a Debian package: those installed, else taken out of the package into .dueline/tools, where Debian's archive
 * answers. Nothing is installed, so no service of the package ever runs, and no rights are needed but to refresh a list of packages.
 *
 * @returns `missing` says why there are none, for the name of what is skipped then.
 */
export async function findPrograms(name: WatchingPackage, root: string): Promise<Programs> {
  const programs = PACKAGES[name];
  const found = programs.map((program) => FOLDERS.map((folder) => join(folder, program)).find(isProgram));
  if (found.every((path) => path !== undefined)) return { paths: byName(programs, found) };

  const folder = join(root, '.dueline/tools', name);
  const own = programs.map((program) => join(folder, 'usr/bin', program));
  if (!own.every(isProgram)) {
    const problem = await unpack(name, folder);
    if (problem !== undefined) return { missing: `no ${name}: ${problem}` };
  }
  return { paths: byName(programs, own) };
}

const byName = (names: readonly string[], paths: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name, at) => [name, paths[at] ?? '']));

/** What keeps the package from being unpacked; undefined: it is. */
async function unpack(name: string, folder: string): Promise<string | undefined> {
  if (!existsSync('/usr/bin/apt-get')) return 'this is no Debian';
  mkdirSync(join(folder, '..'), { recursive: true });
  const fresh = mkdtempSync(`${folder}-`);
  try {
    await download(name, fresh);
    const [archive] = globSync('*.deb', { cwd: fresh });
    await run('dpkg-deb', ['--extract', join(fresh, archive ?? ''), fresh]);
    publish(fresh, folder);
    return undefined;
  } catch (error) {
    return errorText(error);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** By one move, so that nobody sees half of it; who comes second throws its own away. */
function publish(fresh: string, folder: string): void {
  try {
    renameSync(fresh, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

async function download(name: string, folder: string): Promise<void> {
  try {
    await run('apt-get', ['download', '--quiet', name], folder);
  } catch {
    await run('apt-get', ['update', '--quiet'], folder); // a fresh machine has no lists, and root alone may fetch them
    await run('apt-get', ['download', '--quiet', name], folder);
  }
}

const run = (command: string, args: readonly string[], cwd = '/'): Promise<void> =>
  new Promise((resolve, reject) => {
    execFile(command, args, { cwd, timeout: 120_000 }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(stderr.trim().split('\n').at(-1) || error.message));
    });
  });

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
