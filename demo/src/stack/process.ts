import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** What Node made of our files the time before: an app starts in half the processor time. */
const NODE_COMPILE_CACHE = join(ROOT, '.dueline/compile-cache');

/** A process of ours. It ends by itself when this process dies. */
export interface OurProcess {
  readonly name: string;
  readonly child: ChildProcess;
  readonly logFile: string;
  /** Resolves when it is gone, however it ended. */
  readonly gone: Promise<void>;
  /** The last lines of its log. */
  tail(): string;
  /** SIGTERM, and SIGKILL after `graceMs`. Resolves when it is gone. */
  stop(graceMs?: number): Promise<void>;
}

export interface Spawn {
  readonly name: string;
  /** Entry file and arguments for Node. */
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** Starts a Node process in a group of its own, so that Ctrl-C reaches us alone and we stop it in order. */
export function spawnNode({ name, args, cwd, env, logFile }: Spawn, onStdout?: (text: string) => void): OurProcess {
  mkdirSync(dirname(logFile), { recursive: true });
  const log = openSync(logFile, 'a');
  const child = spawn(process.execPath, args, {
    cwd,
    env: { NODE_COMPILE_CACHE, ...env },
    detached: true,
    stdio: ['ignore', onStdout === undefined ? log : 'pipe', log],
  });
  closeSync(log);
  child.stdout?.setEncoding('utf8').on('data', onStdout ?? (() => undefined));
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  return {
    name,
    child,
    logFile,
    gone,
    tail: () => readFileSync(logFile, 'utf8').split('\n').slice(-15).join('\n'),
    stop: async (graceMs = 8_000) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await gone;
      clearTimeout(timer);
    },
  };
}
