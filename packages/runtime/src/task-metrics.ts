import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Told after each run of one task. */
export type TaskRan = (run: { readonly ok: boolean; readonly ms: number }) => void;

/** @param options.everyMs The longest time between two runs, in milliseconds: an alert waits for several of them. */
export type TaskMetrics = (task: string, options: { readonly everyMs: number }) => TaskRan;

/** Metrics of what a process does again and again. The label is `task`, because `job` is Prometheus' own. */
export function createTaskMetrics(registry: Registry): TaskMetrics {
  const registers = [registry];
  const runs = new Counter({
    name: 'dueline_task_runs_total',
    help: 'Runs of a repeated task, by how they ended: `ok` or `failed`.',
    labelNames: ['task', 'result'],
    registers,
  });
  const seconds = new Histogram({
    name: 'dueline_task_seconds',
    help: 'Duration of a run of a repeated task, in seconds.',
    labelNames: ['task'],
    buckets: [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60],
    registers,
  });
  const interval = new Gauge({
    name: 'dueline_task_interval_seconds',
    help: 'Longest time between two runs of a repeated task, in seconds.',
    labelNames: ['task'],
    registers,
  });
  const succeeded = new Gauge({
    name: 'dueline_task_last_success_timestamp_seconds',
    help: 'When a repeated task last went well, or was started, in seconds since 1970.',
    labelNames: ['task'],
    registers,
  });
  return (task, { everyMs }) => {
    for (const result of ['ok', 'failed']) runs.inc({ task, result }, 0);
    interval.set({ task }, everyMs / 1_000);
    succeeded.setToCurrentTime({ task });
    return ({ ok, ms }) => {
      runs.inc({ task, result: ok ? 'ok' : 'failed' });
      seconds.observe({ task }, ms / 1_000);
      if (ok) succeeded.setToCurrentTime({ task });
    };
  };
}
