import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '@dueline/kernel';
import { run } from './run.ts';

/** The programs that look at the charts. */
export type Tools = {
  readonly helm: string;
  /** infra/helm/validate. */
  readonly validate: string;
};

export type FoundTools = Tools | { readonly missing: string };

const MODULE = 'infra/helm/validate';
const HELM_PACKAGE = 'helm.sh/helm/v3/cmd/helm';
/** The modules as they are pinned, by the Go that is here, whoever owns the checkout. */
const GO_ENV = { GOFLAGS: '-mod=readonly -buildvcs=false', GOTOOLCHAIN: 'local' };

/** Nicely: on a new machine it is minutes of work beside tests that have to be on time. */
const BUILD = ['nice', '-n', '5', 'go', 'build', '-trimpath', '-ldflags=-s -w'];

/**
 * helm and our validator, in the versions of infra/helm/validate/go.mod, built by the Go toolchain of this machine into .dueline/tools
 * once: in minutes on a new machine, in seconds where Go has built them before.
 *
 * @returns Why there are none, where there is no Go, or one that is too old, or no network to fetch the modules by.
 * @throws ServiceError when the modules are there and do not build.
 */
export async function findTools(root: string): Promise<FoundTools> {
  const cwd = join(root, MODULE);
  const folder = join(root, '.dueline/tools', fingerprint(cwd));
  const tools = { helm: join(folder, 'helm'), validate: join(folder, 'validate') };
  if (existsSync(tools.helm) && existsSync(tools.validate)) return tools;

  const listed = await run(['go', 'list', '-deps', '.', HELM_PACKAGE], { cwd, env: GO_ENV });
  if (!listed.ok) return { missing: `no Go that can fetch helm: ${lastLine(listed.stderr)}` };

  mkdirSync(join(root, '.dueline/tools'), { recursive: true });
  const fresh = mkdtempSync(`${folder}-`);
  const command = [...BUILD, '-o', `${fresh}/`, '.', HELM_PACKAGE];
  const built = await run(command, { cwd, env: GO_ENV });
  if (!built.ok) throw new ServiceError(`${MODULE} does not build: ${built.stderr}`);
  publish(fresh, folder);
  return tools;
}

/** By one move, so that nobody sees half of it; who comes second throws its own away. */
function publish(fresh: string, folder: string): void {
  try {
    renameSync(fresh, folder);
  } catch (error) {
    rmSync(fresh, { recursive: true });
    if (!existsSync(folder)) throw new ServiceError(`cannot write ${folder}`, { cause: error });
  }
}

function fingerprint(folder: string): string {
  const hash = createHash('sha256');
  for (const file of globSync('{go.mod,go.sum,*.go}', { cwd: folder }).toSorted()) {
    hash.update(readFileSync(join(folder, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';
