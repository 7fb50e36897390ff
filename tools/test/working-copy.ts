import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { runTool } from '../verify/tool.ts';

const ROOT = dirname(dirname(import.meta.dirname));
const LEFT_OUT = new Set(['node_modules', '.git', '.turbo', '.dueline']);

/** A change of one file: from its text (empty when there is no such file) to another. */
export type Plant = { readonly path: string; readonly change: (before: string) => string };

export type WorkingCopy = Disposable & {
  readonly folder: string;
  /** What `./dueline verify` prints in the copy, for these checks or for all. */
  verify(...only: string[]): Promise<{ ok: boolean; output: string }>;
  /** Changes files until what it returns is disposed of. */
  plant(plants: readonly Plant[]): Disposable;
};

/** The sources as they are now, in a folder of their own that uses the installed packages of this checkout. */
export function copyOfSources(): WorkingCopy {
  const copy = realpathSync(mkdtempSync(join(tmpdir(), 'dueline-verify-')));
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
  for (const folder of ['.', ...workspaceFolders()])
    linkPackages(join(ROOT, folder, 'node_modules'), join(copy, folder, 'node_modules'));
  return {
    folder: copy,
    verify: (...only) => runTool(copy, [join(copy, 'tools/verify.ts'), ...only.flatMap((name) => ['--only', name])]),
    plant: (plants) => plantIn(copy, plants),
    [Symbol.dispose]: () => rmSync(copy, { recursive: true, force: true }),
  };
}

function workspaceFolders(): string[] {
  return globSync('{apps/*,packages/*,infra/*,bench,demo,e2e,models,stress,tools}/package.json', { cwd: ROOT }).map(
    (path) => dirname(path),
  );
}

/** The same links: those between packages of ours then lead to the copy, all others to the store of this checkout. */
function linkPackages(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.name === '.pnpm') symlinkSync(source, target);
    else if (entry.name === '.bin') cpSync(source, target, { recursive: true, verbatimSymlinks: true });
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.name.startsWith('@')) linkPackages(source, target);
  }
}

function plantIn(copy: string, plants: readonly Plant[]): Disposable {
  const undo = plants.map(({ path, change }) => {
    const file = join(copy, path);
    const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    const after = change(before ?? '');
    if (after === before) throw new Error(`the plant changes nothing in ${path}: the text that it replaces is gone`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, after);
    return () => (before === undefined ? rmSync(file) : writeFileSync(file, before));
  });
  return {
    [Symbol.dispose]: () => {
      for (const step of undo.toReversed()) step();
    },
  };
}
