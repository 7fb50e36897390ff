import { execFile } from 'node:child_process';

export type Ran = { readonly ok: boolean; readonly stdout: string; readonly stderr: string };

export type RunOptions = {
  readonly cwd: string;
  /** On top of the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
};

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Runs a program to its end. `ok`: it exited with 0; a program that is not there is not ok either. */
export function run(command: readonly string[], { cwd, env = {} }: RunOptions): Promise<Ran> {
  const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return new Promise((resolve) => {
    execFile('env', [...pairs, ...command], { cwd, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
      resolve({ ok: error === null, stdout, stderr: stderr === '' && error !== null ? error.message : stderr });
    });
  });
}
