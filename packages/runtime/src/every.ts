import { MAX_TIMER_MS } from '@dueline/kernel';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { createRetryGate } from './retry-gate.ts';

export type Repeating = {
  /** No new run begins; resolves when a running one has ended. */
  stop(): Promise<void>;
};

export type EveryOptions = {
  readonly intervalMs: number;
  /** 0 to 1: each wait is drawn from intervalMs · (1 ± jitter). 0.1 unless given. */
  readonly jitter?: number;
  readonly run: () => unknown;
  readonly log: Log;
  /** The job's name in log lines and metrics. */
  readonly name?: string;
  /** Where its runs are counted; nowhere when not given. */
  readonly metrics?: Pick<Metrics, 'task'>;
};

/**
 * Runs `run` about every `intervalMs` (24 days at most), first after one wait, never twice at once; the wait begins when a run ends. A
 * failed run is logged once per change of state and repeated after 100 ms, doubling up to 5 s or the interval.
 */
export function every({ intervalMs, jitter = 0.1, run, log, name = 'interval', metrics }: EveryOptions): Repeating {
  const onRun = metrics?.task(name, { everyMs: intervalMs * (1 + jitter) });
  const gate = createRetryGate({ log, job: name, onRun });
  let stopped = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const wait = (failed: boolean): void => {
    if (stopped) return;
    const regular = intervalMs * (1 + jitter * (2 * Math.random() - 1));
    const ms = failed ? Math.min(gate.openAt() - performance.now(), regular) : regular;
    timer = setTimeout(begin, Math.min(MAX_TIMER_MS, Math.max(1, Math.ceil(ms))));
  };
  const begin = (): void => {
    running = gate.attempt(run).then(({ ok }) => wait(!ok));
  };

  wait(false);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
