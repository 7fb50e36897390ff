import { createDueAlarm, createLookAgain } from '@dueline/runtime';
import { wakeOnNotify } from './wake-on-notify.ts';
import type { Worker } from './worker.ts';

export interface ClaimingOptions {
  /** The job's name in log lines. */
  readonly name: string;
  /** As in createDueAlarm: milliseconds until each row due within `withinMs`. */
  readonly lookAhead: (withinMs: number) => Promise<readonly number[]>;
  /** As in createDueAlarm: takes what is due; true when there may be more. */
  readonly run: () => Promise<boolean>;
  /** As in createDueAlarm. */
  readonly sweepEveryMs?: number;
  /** Where somebody tells that rows became due; undefined: nobody is listened to here, and rows are found by the looks. */
  readonly listen?: { readonly url: string; readonly channel: string } | undefined;
  /** Called before the run that a hint asks for. */
  readonly onWake?: () => void;
}

/**
 * Claims at the millisecond until the worker stops: by an alarm that looks ahead each second, by hints, and by looking again for a
 * while after each hint, because a gated NOTIFY leaves some writers unheard.
 *
 * @returns Takes a hint that came another way.
 */
export function startClaiming(
  worker: Pick<Worker, 'log' | 'metrics' | 'onStop'>,
  { name, lookAhead, run, listen, onWake, ...options }: ClaimingOptions,
): () => void {
  const lookAgain = createLookAgain();
  const alarm = createDueAlarm({
    name,
    log: worker.log,
    metrics: worker.metrics,
    lookAhead: async (withinMs) => [...(await lookAhead(withinMs)), ...lookAgain.waits()],
    run,
    ...options,
  });
  worker.onStop(name, () => alarm.stop());
  const wake = () => {
    onWake?.();
    lookAgain.found();
    alarm.wake();
  };
  if (listen !== undefined) wakeOnNotify(worker, { url: listen.url, wakes: { [listen.channel]: wake } });
  return wake;
}
