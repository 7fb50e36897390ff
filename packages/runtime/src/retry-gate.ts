import type { Log } from './log.ts';
import type { TaskRan } from './task-metrics.ts';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;

type Attempt<T> = { readonly ok: true; readonly value: T } | { readonly ok: false };

export type RetryGate = {
  /** Runs `work`; a failure is logged when the one before succeeded, a success when the one before failed. Never throws. */
  attempt<T>(work: () => T | Promise<T>): Promise<Attempt<T>>;
  /** The `performance.now()` before which nobody should try again; 0 after a success. */
  openAt(): number;
};

/** Keeps a repeated job from flooding log and database while it fails: 100 ms back-off, doubling up to 5 s. */
export function createRetryGate({
  log,
  job,
  onRun,
}: {
  log: Log;
  job: string;
  onRun?: TaskRan | undefined;
}): RetryGate {
  let failures = 0;
  let openAt = 0;
  return {
    openAt: () => openAt,
    async attempt(work) {
      const startedAt = performance.now();
      try {
        const value = await work();
        onRun?.({ ok: true, ms: performance.now() - startedAt });
        if (failures > 0) log.info({ job, failures }, 'a repeated job works again');
        failures = 0;
        openAt = 0;
        return { ok: true, value };
      } catch (error) {
        onRun?.({ ok: false, ms: performance.now() - startedAt });
        if (failures === 0) log.error({ job, err: error }, 'a repeated job fails and is tried again');
        const waitMs = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 10));
        failures += 1;
        // Up to half of the wait is left out at random, so that replicas do not come back in step.
        openAt = performance.now() + Math.max(FIRST_WAIT_MS, waitMs * (1 - Math.random() / 2));
        return { ok: false };
      }
    },
  };
}
