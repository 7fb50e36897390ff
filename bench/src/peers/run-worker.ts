import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { PeerName } from './index.ts';
import type { Mode, PeerUrls } from './peer.ts';

export interface PeerWork {
  readonly name: PeerName;
  readonly mode: Mode;
  readonly urls: PeerUrls;
}

/** What a worker process did, from its start to its end. */
export interface Final {
  readonly handled: number;
  /** Jobs that it handled at least once, and those that it handled more often. */
  readonly distinct: number;
  readonly doubled: number;
  /** When its handler ran first and last, in milliseconds of the epoch; 0: never. */
  readonly firstAt: number;
  readonly lastAt: number;
  /** Its processor time until its first job, and in all. */
  readonly bootCpuSeconds: number;
  readonly cpuSeconds: number;
  /** The `n` of each job, as they were handled: `countJobs` of several workers tells what two of them did both. */
  readonly jobs: Uint32Array;
  /** Start minus due of each job, in fractional milliseconds; empty in mode `tuned`. */
  readonly latenessMs: Float64Array;
  /** What it printed; the peers print errors only. */
  readonly output: string;
}

/** A process that works for a peer. It ends when this process does. */
export interface PeerWorker {
  readonly pid: number;
  /** Jobs so far, as of some 50 ms ago. Throws what the process printed when it has died. */
  handled(): number;
  /** Ends it in order; rejects with what it printed when it had died, or will not end. */
  stop(): Promise<Final>;
}

/** From this process to a worker. */
export type Order = { readonly kind: 'begin'; readonly work: PeerWork } | { readonly kind: 'stop' };

/** From a worker to this process. */
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'handled'; readonly handled: number }
  | { readonly kind: 'final'; readonly final: Omit<Final, 'handled' | 'distinct' | 'doubled' | 'output'> };

const STOP_TIMEOUT_MS = 60_000;
const OUTPUT_CHARACTERS = 8_000;

/** Starts a worker process; resolves when it works. Rejects with what it printed when it dies before. */
export async function startPeerWorker(work: PeerWork): Promise<PeerWorker> {
  const child = fork(fileURLToPath(new URL('worker-main.ts', import.meta.url)), {
    ...{ execArgv: [], serialization: 'advanced', stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
  });
  const output = collectOutput(child);
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Omit<Final, 'output'>>();
  let handled = 0;
  let died: Error | undefined;
  ended.promise.catch(() => undefined); // nobody may be waiting yet: handled() and stop() say it too
  child.on('message', (report: Report) => {
    if (report.kind === 'ready') ready.resolve();
    if (report.kind === 'handled') handled = report.handled;
    if (report.kind === 'final') {
      handled = report.final.jobs.length;
      ended.resolve({ ...report.final, handled, ...countJobs([report.final.jobs]) });
    }
  });
  child.once('error', (error) => ready.reject(error));
  child.once('close', (code, signal) => {
    died = new Error(`a worker of ${work.name} ended with ${signal ?? code}: ${output()}`);
    ready.reject(died);
    ended.reject(died);
  });
  send(child, { kind: 'begin', work });
  await ready.promise;
  return {
    pid: child.pid ?? 0,
    handled: () => {
      if (died !== undefined) throw died;
      return handled;
    },
    stop: async () => {
      send(child, { kind: 'stop' });
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      try {
        return { ...(await ended.promise), output: output() };
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** How many jobs the workers handled between them, each counted once, and how many of those more than once. */
export function countJobs(jobs: readonly Uint32Array[]): { distinct: number; doubled: number } {
  const seen = new Set<number>();
  const again = new Set<number>();
  for (const some of jobs) {
    for (const n of some) (seen.has(n) ? again : seen).add(n);
  }
  return { distinct: seen.size, doubled: again.size };
}

/** One that has died is told nothing; how it died is said elsewhere. */
function send(child: ChildProcess, order: Order): void {
  if (child.connected) child.send(order, () => undefined);
}

function collectOutput(child: ChildProcess): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (piece: string) => {
      text = (text + piece).slice(-OUTPUT_CHARACTERS);
    });
  }
  return () => text.trim();
}
