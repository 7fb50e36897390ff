import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '@dueline/kernel';
import type { Account } from './account.ts';
import { LocalServicesError, messageOf, PortTakenError } from './errors.ts';
import { signal } from './proc.ts';

/** A process of a run. It leads its own group: Ctrl-C in the terminal does not reach it, and one signal ends all of it. */
export interface ServerProcess {
  name: string;
  child: ChildProcess;
  logFile: string;
  endSignal: NodeJS.Signals;
  /** Settles with how it ended, in words. */
  ended: Promise<string>;
}

export interface LaunchOptions {
  name: string;
  command: string;
  args: string[];
  /** Its working folder, one that the servers' account owns. */
  folder: string;
  env?: Record<string, string>;
  /** What ends it at once without leaving anything behind; SIGKILL to the group follows if it lingers. */
  endSignal?: NodeJS.Signals;
}

/** How long a server may take to obey its own signal. */
export const PATIENCE_MS = 3_000;

/** Starting may share two cores with a whole test run. */
const START_TIMEOUT_MS = 120_000;

/** Starts a program in its own process group, as `account`, with its output in a log file. */
export function spawnServer(options: LaunchOptions, { account, path }: { account: Account | undefined; path: string }) {
  const { name, command, args, folder, env = {}, endSignal = 'SIGKILL' } = options;
  const logFile = join(folder, 'log.txt');
  const log = openSync(logFile, 'a');
  if (account) chownSync(logFile, account.uid, account.gid);
  const child = spawn(command, args, {
    cwd: folder,
    stdio: ['ignore', log, log],
    detached: true,
    env: { PATH: path, LANG: 'C.UTF-8', HOME: folder, TMPDIR: folder, ...env },
    ...account,
  });
  closeSync(log);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${messageOf(error)}`));
    child.once('exit', (code, signalName) =>
      resolve(signalName ? `was ended by ${signalName}` : `exited with ${code}`),
    );
  });
  return { name, child, logFile, endSignal, ended } satisfies ServerProcess;
}

export const isRunning = ({ child }: ServerProcess): boolean =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null;

/** Ends the process and whatever is left of its group. Safe to repeat. */
export async function endServer(server: ServerProcess): Promise<void> {
  const { pid } = server.child;
  if (pid === undefined || !isRunning(server)) return;
  signal(server.endSignal === 'SIGKILL' ? -pid : pid, server.endSignal);
  await Promise.race([server.ended, sleep(PATIENCE_MS)]);
  signal(-pid, 'SIGKILL');
  await server.ended;
}

/** For an error that must not wait for a person to read a log file. */
const logTail = ({ logFile }: ServerProcess): string => readFileSync(logFile, 'utf8').trim().slice(-3_000);

/** The reason may stand far above the end of the log: RabbitMQ prints a dump of many pages after it. */
function endedEarly(server: ServerProcess, end: string): LocalServicesError {
  const text = `${server.name} ${end}:\n${logTail(server)}`;
  const portTaken = /address already in use|eaddrinuse/i.test(readFileSync(server.logFile, 'utf8'));
  return portTaken ? new PortTakenError(`a port was taken meanwhile; ${text}`) : new LocalServicesError(text);
}

/** Waits until `check` says undefined, meaning ready; otherwise it says what is still missing. Fails at once when the server ends. */
export async function waitUntilReady(server: ServerProcess, check: () => Promise<string | undefined>): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  let end: string | undefined;
  void server.ended.then((how) => {
    end = how;
  });
  for (;;) {
    const missing = await check();
    if (end !== undefined) throw endedEarly(server, end);
    if (missing === undefined) return;
    if (performance.now() > deadline) {
      throw new LocalServicesError(`${server.name} is not ready after 120 s (${missing}):\n${logTail(server)}`);
    }
    await sleep(25);
  }
}

/** Waits for a program that does one thing and exits. */
export async function waitUntilDone(step: ServerProcess): Promise<void> {
  const end = await step.ended;
  if (end !== 'exited with 0') throw new LocalServicesError(`${step.name} ${end}:\n${logTail(step)}`);
}
