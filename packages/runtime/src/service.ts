import { ConfigError } from './config.ts';
import type { Log } from './log.ts';
import { createStopSteps, type OnStop } from './stop-steps.ts';

export type ServiceOptions = {
  readonly log: Log;
  /** Time for an ordered stop in milliseconds; then the process ends with 1. */
  readonly shutdownTimeoutMs: number;
  /** Process id of the starter: when it is gone, this process ends with 1 within two seconds. */
  readonly parentPid?: number | undefined;
};

type Ending = { readonly reason: string; readonly exitCode: 0 | 1; readonly budgetMs: number };

const CRASH_BUDGET_MS = 5_000;
const ORPHAN_BUDGET_MS = 1_000;
const PARENT_POLL_MS = 250;
const LATE_START_MS = 1_000;

/**
 * The frame of every main.ts: runs `start`, then stays until the process is told to stop, and ends the process itself.
 *
 * SIGTERM or SIGINT: the steps given to `onStop` run, last first, then exit 0; a second signal, or `shutdownTimeoutMs`
 * passing, exits with 1. An error from `start`, an uncaught exception or an unhandled rejection is logged as fatal, what
 * was started is stopped, exit 1 (a ConfigError is printed as plain text instead).
 *
 * Resolves when `start` has ended and never rejects.
 */
export async function runService(options: ServiceOptions, start: (onStop: OnStop) => Promise<void>): Promise<void> {
  const { log, shutdownTimeoutMs: budgetMs } = options;
  const steps = createStopSteps(log);
  const started = Promise.withResolvers<void>();
  const end = createEnd({ log, stopAll: steps.run, started: started.promise });

  endOnSignals({ log, budgetMs, end });
  endOnCrash(log, end);
  if (options.parentPid !== undefined) endWithParent(options.parentPid, log, end);

  try {
    await start(steps.register);
  } catch (error) {
    if (end.begun()) log.debug({ err: error }, 'the start was cut off by the stop');
    else {
      if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
      else log.fatal({ err: error }, 'the service could not start');
      end.begin({ reason: 'start failed', exitCode: 1, budgetMs });
    }
  } finally {
    started.resolve();
  }
}

type End = {
  /** The first call stops everything and exits; a later one can only shorten the time left and worsen the exit code. */
  begin(ending: Ending): void;
  begun(): boolean;
};

function createEnd(deps: { log: Log; stopAll: () => Promise<void>; started: Promise<void> }): End {
  const { log, stopAll, started } = deps;
  let exitCode: number | undefined;

  const stopAndExit = async (reason: string): Promise<void> => {
    const startedAt = performance.now();
    log.info({ reason }, 'stopping');
    await stopAll();
    await Promise.race([started, new Promise((resolve) => setTimeout(resolve, LATE_START_MS))]);
    await stopAll(); // what a start that was still going on has opened meanwhile
    log.info({ reason, ms: Math.round(performance.now() - startedAt), exitCode }, 'stopped');
    process.exit(exitCode);
  };

  return {
    begun: () => exitCode !== undefined,
    begin(ending) {
      setTimeout(() => {
        log.fatal({ reason: ending.reason, budgetMs: ending.budgetMs }, 'the stop took too long');
        process.exit(1);
      }, ending.budgetMs);
      const first = exitCode === undefined;
      exitCode = Math.max(exitCode ?? 0, ending.exitCode);
      if (first) void stopAndExit(ending.reason);
    },
  };
}

function endOnSignals({ log, budgetMs, end }: { log: Log; budgetMs: number; end: End }): void {
  let signals = 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      signals += 1;
      if (signals > 1) {
        log.fatal({ signal }, 'a second signal ends the process at once');
        process.exit(1);
      }
      end.begin({ reason: signal, exitCode: 0, budgetMs });
    });
  }
  process.once('beforeExit', () => {
    log.fatal('nothing is left that keeps the service running');
    end.begin({ reason: 'nothing left to do', exitCode: 1, budgetMs });
  });
}

function endOnCrash(log: Log, end: End): void {
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      log.fatal({ err: error, event }, 'an error that nothing handles ends the process');
      end.begin({ reason: event, exitCode: 1, budgetMs: CRASH_BUDGET_MS });
    });
  }
}

function endWithParent(parentPid: number, log: Log, end: End): void {
  const poll = setInterval(() => {
    if (process.ppid === parentPid) return;
    clearInterval(poll);
    log.error({ parentPid }, 'the parent process is gone');
    end.begin({ reason: 'parent gone', exitCode: 1, budgetMs: ORPHAN_BUDGET_MS });
  }, PARENT_POLL_MS);
  poll.unref();
}
