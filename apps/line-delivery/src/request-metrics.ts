import type { AttemptResult } from '@dueline/deliveries';
import type { Worker } from '@dueline/worker-app';
import type { ExecuteDeps } from './execute-action.ts';

/** Measures requests to LINE: what they proved, and how long they took. */
export function measureRequests({ metrics }: Pick<Worker, 'metrics'>): Pick<ExecuteDeps, 'onAnswered'> & {
  readonly count: (outcome: AttemptResult['outcome']) => void;
} {
  const attempts = metrics.counter({
    name: 'dueline_line_attempts_total',
    help: 'Requests to LINE, by what they proved.',
    labels: ['outcome'],
    from0: { outcome: ['accepted', 'auth'] },
  });
  const seconds = metrics.histogram({
    name: 'dueline_line_request_seconds',
    help: 'Time from the decision to call LINE until it was known what that proved, in seconds.',
    labels: ['endpoint'],
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  });
  return {
    onAnswered: (endpoint, ms) => seconds.observe({ endpoint }, ms / 1_000),
    count: (outcome) => attempts.inc({ outcome }),
  };
}
