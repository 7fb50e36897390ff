import type { Alert } from '../alert.ts';

/** What may happen to any app. */
export const everyService: readonly Alert[] = [
  {
    name: 'DuelineDown',
    expr: ({ app }) => `absent(up{${app}} == 1)`,
    for: '5m',
    severity: 'page',
    summary: 'No replica of $app answers scrapes.',
  },
  {
    name: 'DuelineBrokerBlocked',
    expr: ({ app }) => `max(dueline_mq_blocked{${app}}) == 1`,
    for: '2m',
    severity: 'page',
    summary: 'RabbitMQ takes no messages from $app.',
  },
  {
    name: 'DuelineReconnects',
    expr: ({ app }) =>
      `sum by (role) (increase(dueline_mq_connections_total{${app}}[15m])) > 10 * scalar(count(up{${app}}))`,
    for: '5m',
    severity: 'ticket',
    summary: '$app loses its connection to RabbitMQ again and again.',
  },
  {
    name: 'DuelineTaskStopped',
    expr: ({ app }) =>
      [
        `time() - max by (task) (dueline_task_last_success_timestamp_seconds{${app}})`,
        `> 180 + 3 * max by (task) (dueline_task_interval_seconds{${app}})`,
      ].join(' '),
    for: '2m',
    severity: 'ticket',
    summary: 'What $app does again and again has not gone well for minutes.',
  },
  {
    name: 'DuelineConnectionsUsedUp',
    expr: ({ app }) => `max(min_over_time(dueline_database_waiting{${app}}[5m])) > 0`,
    for: '5m',
    severity: 'ticket',
    summary: 'Work of $app waits for connections to the database all the time.',
  },
  {
    name: 'DuelineUnmeasured',
    expr: ({ app }) => `sum by (metric) (increase(dueline_metric_collect_errors_total{${app}}[15m])) > 3`,
    for: '10m',
    severity: 'ticket',
    summary: '$app cannot read one of its metrics.',
  },
  {
    name: 'DuelineEventLoopLate',
    expr: ({ app }) => `max(nodejs_eventloop_lag_p99_seconds{${app}}) > 1`,
    for: '10m',
    severity: 'ticket',
    summary: 'A process of $app is busy for more than a second at a time.',
  },
];
