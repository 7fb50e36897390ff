import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { changeLines, copySources, type LineChange } from './sources.ts';

/** What a run of everything consists of. */
const PARTS = ['apps', 'packages', 'infra', 'demo', 'stress'];

/** Runs a file of ours in a copy of the sources with other lines. @returns Its exit code. */
export async function runFromCopy({
  main,
  args,
  env,
  changes,
}: {
  /** From the root. */
  main: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  changes: readonly LineChange[];
}): Promise<number> {
  const folder = await copySources(PARTS);
  try {
    await changeLines(folder, changes);
    const child = spawn(process.execPath, [join(folder, main), ...args], { cwd: folder, env, stdio: 'inherit' });
    // Ctrl-C reaches both, and the child stops what it started; a signal to us alone goes on to it.
    process.on('SIGINT', () => undefined);
    process.on('SIGTERM', () => child.kill('SIGTERM'));
    return await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? 1));
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
