import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '@dueline/demo';

const run = promisify(execFile);

export interface Report {
  readonly ok: boolean;
  readonly lost: number;
  readonly doubled: number;
  readonly standings: readonly { readonly name: string; readonly figures: Readonly<Record<string, number>> }[];
}

/** Runs a scenario as small as it can be, once, and returns its report. */
export const bench = async (...args: string[]): Promise<Report> => {
  const command = [join(ROOT, 'bench/src/main.ts'), ...args, '--scale', '0.002', '--rounds', '1', '--json'];
  const { stdout } = await run(process.execPath, command, { maxBuffer: 2 ** 24 });
  return JSON.parse(stdout) as Report;
};
