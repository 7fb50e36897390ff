import { planDueTimes } from './due-plan.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import { createRetryGate, type RetryGate } from './retry-gate.ts';

export type DueAlarm = {
  /** Runs at once, or once more after a run that is going on: call it when a row may have become due or was added. */
  wake(): void;
  /** No new run begins; resolves when a running one has ended. */
  stop(): Promise<void>;
};

export type DueAlarmOptions = {
  /** Milliseconds (also fractions, also negative) until each row due within `withinMs`, computed by the database. */
  readonly lookAhead: (withinMs: number) => Promise<readonly number[]>;
  /** Takes what is due now, the database deciding; true when it found something and wants to be run again at once. */
  readonly run: () => Promise<boolean>;
  readonly log: Log;
  /** The job's name in log lines and metrics. */
  readonly name?: string;
  /** Where its runs are counted; nowhere when not given. */
  readonly metrics?: Pick<Metrics, 'task'>;
  /** How far a look reaches, in milliseconds; longer than `readEveryMs`. 2,000 unless given. */
  readonly lookAheadMs?: number;
  /** Longest time between two looks; also the longest wait for a row that another claimer holds. 1,000 unless given. */
  readonly readEveryMs?: number;
  /** A run at least this often, whatever the looks say. 60,000 unless given. */
  readonly sweepEveryMs?: number;
  /** No looks and no sweeps: runs for wake() only, for tests that drive it by hand. */
  readonly clockless?: boolean;
};

const LONGEST_TIMER_MS = 60_000;

type Alarm = {
  readonly options: Required<Omit<DueAlarmOptions, 'log' | 'name' | 'metrics'>>;
  readonly runs: RetryGate;
  readonly looks: RetryGate;
  stopped: boolean;
  runWanted: boolean;
  lookWanted: boolean;
  /** Instants of `performance.now()`. */
  times: readonly number[];
  nextLookAt: number;
  nextSweepAt: number;
  emptyRunAt: number;
  /** Looks in a row that saw an overdue row; the wait for it doubles with each. */
  overdueLooks: number;
  /** When an overdue row is run for again, unless something runs before: a look that comes before must not put it off. */
  retryAt: number | undefined;
  timer: NodeJS.Timeout | undefined;
  busy: boolean;
  /** Ends when `busy` does. */
  turning: Promise<void> | undefined;
};

/**
 * Calls `run` as soon as possible after a row came due: looks ahead every `readEveryMs`, sets a timer for the earliest
 * instant, and after each run that found nothing looks again, so that a row that came due a fraction later is not left
 * to the next second. Begins with a run. Runs never overlap. An error of `run` or `lookAhead` is logged once per change
 * of state and tried again after 100 ms, doubling up to 5 s; nothing is thrown and nothing ends the alarm but stop().
 */
export function createDueAlarm({ log, name = 'due alarm', metrics, ...given }: DueAlarmOptions): DueAlarm {
  const defaults = { lookAheadMs: 2_000, readEveryMs: 1_000, sweepEveryMs: 60_000, clockless: false };
  const options = { ...defaults, ...given };
  if (options.lookAheadMs <= options.readEveryMs) throw new Error('lookAheadMs must be longer than readEveryMs');
  const now = performance.now();
  const alarm: Alarm = {
    options,
    runs: createRetryGate({
      log,
      job: `${name}: run`,
      onRun: metrics?.task(name, { everyMs: options.sweepEveryMs }),
    }),
    looks: createRetryGate({ log, job: `${name}: look ahead` }),
    stopped: false,
    runWanted: !options.clockless,
    lookWanted: !options.clockless,
    times: [],
    nextLookAt: now + options.readEveryMs,
    nextSweepAt: now + options.sweepEveryMs,
    emptyRunAt: Number.NEGATIVE_INFINITY,
    overdueLooks: 0,
    retryAt: undefined,
    timer: undefined,
    busy: false,
    turning: undefined,
  };

  turn(alarm);
  return {
    wake() {
      alarm.runWanted = true;
      turn(alarm);
    },
    async stop() {
      alarm.stopped = true;
      clearTimeout(alarm.timer);
      await alarm.turning;
    },
  };
}

function turn(alarm: Alarm): void {
  if (alarm.busy || alarm.stopped) return;
  clearTimeout(alarm.timer);
  alarm.turning = work(alarm);
}

/** Does what is wanted now, one thing after the other, then sets the timer for what comes next. Never rejects. */
async function work(alarm: Alarm): Promise<void> {
  alarm.busy = true;
  while (!alarm.stopped) {
    const now = performance.now();
    noticeTime(alarm, now);
    if (alarm.runWanted && alarm.runs.openAt() <= now) await runOnce(alarm);
    else if (alarm.lookWanted && alarm.looks.openAt() <= now) await look(alarm);
    else break;
  }
  alarm.busy = false; // in the same step as the last question, or a wake between them would go unheard
  setTimer(alarm);
}

function noticeTime(alarm: Alarm, now: number): void {
  const { options } = alarm;
  if (options.clockless) return;
  const passed = alarm.times.filter((at) => at <= now).length;
  if (passed > 0) {
    alarm.times = alarm.times.slice(passed);
    alarm.runWanted = true;
  }
  if (now >= alarm.nextSweepAt) {
    alarm.nextSweepAt = now + options.sweepEveryMs;
    alarm.runWanted = true;
  }
  if (now >= alarm.nextLookAt) {
    alarm.nextLookAt = now + options.readEveryMs;
    alarm.lookWanted = true;
  }
}

async function runOnce(alarm: Alarm): Promise<void> {
  const startedAt = performance.now();
  alarm.runWanted = false; // before the run: a wake that comes while it runs must count
  alarm.retryAt = undefined;
  const result = await alarm.runs.attempt(alarm.options.run);
  if (!result.ok || result.value) {
    alarm.runWanted = true;
    return;
  }
  alarm.emptyRunAt = startedAt;
  alarm.lookWanted = !alarm.options.clockless;
}

async function look(alarm: Alarm): Promise<void> {
  const { lookAhead, lookAheadMs, readEveryMs } = alarm.options;
  const askedAt = performance.now();
  alarm.lookWanted = false;
  alarm.nextLookAt = askedAt + readEveryMs;
  const answer = await alarm.looks.attempt(() => lookAhead(lookAheadMs));
  if (!answer.ok) {
    alarm.lookWanted = true;
    return;
  }

  const now = performance.now();
  const plan = planDueTimes({ askedAt, now, dueInMs: answer.value, emptyRunAt: alarm.emptyRunAt });
  alarm.overdueLooks = plan.overdue ? alarm.overdueLooks + 1 : 0;
  alarm.times = plan.times;
  if (plan.overdue) {
    alarm.retryAt ??= now + Math.min(readEveryMs, 2 ** Math.min(alarm.overdueLooks - 1, 20));
    alarm.times = [...plan.times, alarm.retryAt].sort((a, b) => a - b);
  }
}

function setTimer(alarm: Alarm): void {
  if (alarm.stopped) return;
  const moments = alarm.options.clockless ? [] : [alarm.nextLookAt, alarm.nextSweepAt, ...alarm.times.slice(0, 1)];
  if (alarm.runWanted) moments.push(alarm.runs.openAt());
  if (alarm.lookWanted) moments.push(alarm.looks.openAt());
  if (moments.length === 0) return;
  const waitMs = Math.ceil(Math.min(...moments) - performance.now());
  alarm.timer = setTimeout(() => turn(alarm), Math.min(LONGEST_TIMER_MS, Math.max(1, waitMs)));
}
