import { sleep } from '@dueline/kernel';
import { LocalServicesError } from './errors.ts';
import { family, hasProc, isZombie, mayBeAlive, readStat, signal } from './proc.ts';
import { isRunning, type LaunchOptions, type ServerProcess, waitUntilReady } from './processes.ts';
import type { Run } from './run.ts';

/** A server of ours that may be ended and started again with the same data, port and password. */
export interface PrivateServer {
  /** Of its first process, from which the others come; another one after a start. */
  pid(): number;
  /**
   * Ends it by this signal and resolves when all of its processes are gone. SIGKILL reaches every one of them, as when a
   * machine fails; any other signal goes to the first, which ends the rest in its own way.
   *
   * @throws LocalServicesError when it does not end within 30 s.
   */
  stop(how: NodeJS.Signals): Promise<void>;
  /** Starts it, unless it runs; resolves when it is ready. @throws LocalServicesError with the end of its log when it fails. */
  start(): Promise<void>;
  /** Keeps its processes from running, without ending them: connections stand, and nothing answers. */
  freeze(): void;
  /** Ends a freeze; does nothing without one. */
  thaw(): void;
}

const STOP_TIMEOUT_MS = 30_000;

/** Starts a server; `problemOf` says what keeps it from being ready. */
export async function startServer(
  run: Run,
  options: LaunchOptions,
  problemOf: () => Promise<string | undefined>,
): Promise<PrivateServer> {
  const launch = async (): Promise<ServerProcess> => {
    const launched = run.launch(options);
    await waitUntilReady(launched, problemOf);
    return launched;
  };
  let server = await launch();
  const processes = () => (isRunning(server) ? family(server.child.pid ?? 0) : []);
  const signalAll = (how: NodeJS.Signals) => {
    for (const pid of processes()) signal(pid, how);
  };
  return {
    pid: () => server.child.pid ?? 0,
    stop: async (how) => {
      const all = processes();
      for (const pid of how === 'SIGKILL' ? all : all.slice(0, 1)) signal(pid, how);
      await untilGone(options.name, all);
      await server.ended;
    },
    start: async () => {
      if (!isRunning(server)) server = await launch();
    },
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
  };
}

async function untilGone(name: string, pids: readonly number[]): Promise<void> {
  for (const deadline = performance.now() + STOP_TIMEOUT_MS; !pids.every(isGone); await sleep(20)) {
    if (performance.now() > deadline) throw new LocalServicesError(`${name} did not end in ${STOP_TIMEOUT_MS} ms`);
  }
}

function isGone(pid: number): boolean {
  if (!hasProc()) return !mayBeAlive(pid);
  const stat = readStat(pid);
  return stat === undefined || isZombie(stat);
}
