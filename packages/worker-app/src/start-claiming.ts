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
  /** Where somebody tells that rows became due; undefined: nobody is listened to, and rows are found by the looks. */
  readonly listen: { readonly url: string; readonly channel: string } | undefined;
  /** Called before the run that such a hint asks for. */
  readonly onWake: () => void;
}

/**
 * Claims at the millisecond until the worker stops: by an alarm that looks ahead each second, by hints, and by looking again for a
 * while after each hint, because a gated NOTIFY leaves some writers unheard.
 */
export function startClaiming(
  worker: Pick<Worker, 'log' | 'metrics' | 'onStop'>,
  { name, lookAhead, run, listen, onWake }: ClaimingOptions,
): void {
  const lookAgain = createLookAgain();
  const alarm = createDueAlarm({
    name,
    log: worker.log,
    metrics: worker.metrics,
    lookAhead: async (withinMs) => [...(await lookAhead(withinMs)), ...lookAgain.waits()],
    run,
  });
  worker.onStop(name, () => alarm.stop());
  if (listen === undefined) return;
  wakeOnNotify(worker, {
    ...listen,
    onWake: () => {
      onWake();
      lookAgain.found();
      alarm.wake();
    },
  });
}
