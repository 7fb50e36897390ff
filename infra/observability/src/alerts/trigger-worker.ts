import type { Alert } from '../alert.ts';

/** Part of the actions that may be decided later than LATE_SECONDS, over 28 days. */
const BUDGET = 0.005;
/** A bound of the histogram's buckets. */
const LATE_SECONDS = '10';

/** Whether actions use up that budget so many times too fast, in both windows: in the long one, and still in the short one. */
function burns(app: string, { times, windows }: { times: number; windows: readonly string[] }): string {
  const limit = Number((times * BUDGET).toPrecision(3));
  const metric = 'dueline_action_lateness_seconds';
  return windows
    .map((window) => {
      const inTime = `sum(rate(${metric}_bucket{${app},le="${LATE_SECONDS}"}[${window}]))`;
      return `1 - ${inTime} / sum(rate(${metric}_count{${app}}[${window}])) > ${limit}`;
    })
    .join(' and ');
}

export const triggerWorker: readonly Alert[] = [
  {
    name: 'DuelineNothingDecided',
    expr: ({ app, all }) =>
      `sum(rate(dueline_decisions_total{${app}}[10m])) == 0 and on () max(dueline_outbox_oldest_seconds{${all}}) > 60`,
    for: '5m',
    severity: 'page',
    summary: 'Events wait, and trigger-worker decides none.',
  },
  {
    name: 'DuelineDueUnheard',
    expr: ({ app }) => `max(dueline_listener_connected{${app}}) == 0`,
    for: '10m',
    severity: 'ticket',
    summary: 'trigger-worker does not hear of what becomes due; it finds it up to a second later.',
  },
  {
    name: 'DuelineLateNow',
    expr: ({ app }) => burns(app, { times: 14.4, windows: ['1h', '5m'] }),
    for: '2m',
    severity: 'page',
    summary: 'More than 7 in 100 actions are decided over ten seconds late.',
  },
  {
    name: 'DuelineLateAgain',
    expr: ({ app }) => burns(app, { times: 6, windows: ['6h', '30m'] }),
    for: '15m',
    severity: 'ticket',
    summary: 'For hours more than 3 in 100 actions have been decided over ten seconds late.',
  },
];
