import { shared } from '@dueline/runtime';
import { countOpenActions, oldestDueSeconds } from '@dueline/scheduled-actions';
import type { Worker } from '@dueline/worker-app';

/** Shows how late and how much the work is that waits: told here, because a scheduler looks at all accounts anyway. */
export function measureBacklog(
  { db, metrics }: Pick<Worker, 'db' | 'metrics'>,
  { graceSeconds }: { graceSeconds: number },
): void {
  metrics.gauge({
    name: 'dueline_actions_oldest_due_seconds',
    help: 'For how long the oldest due action of a working account has waited to be claimed, in seconds of product time.',
    collect: async (gauge) => gauge.set(await oldestDueSeconds(db, { graceSeconds })),
  });
  const counts = shared(() => countOpenActions(db));
  metrics.gauge({
    name: 'dueline_actions_processing',
    help: 'Actions that are claimed and not decided yet; counted up to 10,000.',
    collect: async (gauge) => gauge.set((await counts()).processing),
  });
  metrics.gauge({
    name: 'dueline_actions_stuck',
    help: 'Claimed actions whose lease has been over for a minute, and that nobody took back; counted up to 10,000.',
    collect: async (gauge) => gauge.set((await counts()).stuck),
  });
  metrics.gauge({
    name: 'dueline_actions_due',
    help: 'Actions whose time has come and that nobody has taken, of stopped and paused accounts too; counted up to 10,000.',
    collect: async (gauge) => gauge.set((await counts()).due),
  });
}
