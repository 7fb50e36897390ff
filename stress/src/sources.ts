import { cp, mkdtemp, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '@dueline/demo';

/** A line of a source file, which is there once, and what stands in its place. */
export interface LineChange {
  /** From the root. */
  readonly file: string;
  readonly line: string;
  readonly changed: string;
}

/** Copies parts of the sources to a folder of their own, on the installed packages, and returns it. The caller removes it. */
export async function copySources(parts: readonly string[] = ['apps', 'packages']): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'dueline-copy-')));
  // The links between our packages are relative, so they lead to the copies.
  for (const part of parts) await cp(join(ROOT, part), join(folder, part), { recursive: true, verbatimSymlinks: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/**
 * Changes lines of a copy of the sources.
 *
 * @returns What puts the files back as they were.
 * @throws Error when a line is not in its file exactly once.
 */
export async function changeLines(folder: string, changes: readonly LineChange[]): Promise<() => Promise<void>> {
  const before = new Map<string, string>();
  for (const { file, line, changed } of changes) {
    const path = join(folder, file);
    const text = await readFile(path, 'utf8');
    if (text.split(line).length !== 2) throw new Error(`the line to change is not once in ${file}: ${line}`);
    if (!before.has(path)) before.set(path, text);
    await writeFile(
      path,
      text.replace(line, () => changed),
    );
  }
  return async () => {
    for (const [path, text] of before) await writeFile(path, text);
  };
}
