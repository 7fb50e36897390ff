import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** What a check found: nothing when `ok`, else text that names the place and the rule. */
export type Finding = { readonly ok: boolean; readonly output: string };

/**
 * Runs a program of the workspace (a name in node_modules/.bin) or a script of ours (a path that ends in .ts) in `root`.
 * It found something when it ends with anything but 0; its output is what it says on both streams.
 */
export function runTool(root: string, [program = '', ...args]: readonly string[]): Promise<Finding> {
  const command = program.endsWith('.ts')
    ? [process.execPath, program, ...args]
    : [join(root, 'node_modules', '.bin', program), ...args];
  const [file = '', ...rest] = command;
  return new Promise((resolve) => {
    const child = spawn(file, rest, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('error', (error) => resolve({ ok: false, output: `${program} cannot be started: ${error.message}` }));
    child.once('close', (code, signal) => {
      const said = Buffer.concat(chunks).toString('utf8').trim();
      const ok = code === 0;
      resolve({ ok, output: ok ? '' : said || `${program} ended with ${signal ?? code} and said nothing` });
    });
  });
}
