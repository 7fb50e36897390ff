import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const NOT_OURS = new Set(['node_modules', '.git', '.turbo', '.dueline', 'patches']);

/** Paths of our own files that fit the glob, relative to `root`, in order. */
export function ownFiles(root: string, pattern: string): string[] {
  return globSync(pattern, { cwd: root, exclude: (path) => NOT_OURS.has(basename(path)) }).toSorted();
}

/** The lines of a file below `root`, numbered from 1. */
export function numberedLines(root: string, path: string): { number: number; text: string }[] {
  return readFileSync(join(root, path), 'utf8')
    .split('\n')
    .map((text, index) => ({ number: index + 1, text }));
}
