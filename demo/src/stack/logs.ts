import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Log folders that are kept, the new one not counted. */
const KEPT = 20;

/** Makes a folder for the logs of one run, and removes those of runs long ago. */
export function newLogFolder(parent: string, id: string): string {
  const folder = join(parent, id);
  mkdirSync(folder, { recursive: true });
  const older = readdirSync(parent)
    .filter((name) => name !== id)
    .map((name) => ({ path: join(parent, name), at: statSync(join(parent, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  for (const { path } of older.slice(KEPT)) rmSync(path, { recursive: true, force: true });
  return folder;
}
