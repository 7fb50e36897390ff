import { setTimeout as delay } from 'node:timers/promises';

/** What a timer of Node holds, in milliseconds (24.8 days): one that is longer ends at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Waits `ms` milliseconds of process time, however many; ends early, without throwing, when `signal` aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  const options = signal === undefined ? {} : { signal };
  try {
    let left = ms;
    do {
      await delay(Math.min(left, MAX_TIMER_MS), undefined, options);
      left -= MAX_TIMER_MS;
    } while (left > 0);
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error;
  }
}
