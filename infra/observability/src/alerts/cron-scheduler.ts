import type { Alert } from '../alert.ts';

export const cronScheduler: readonly Alert[] = [
  {
    name: 'DuelineActionsLate',
    expr: ({ app }) => `max(dueline_actions_oldest_due_seconds{${app}}) > 180`,
    for: '5m',
    severity: 'page',
    summary: 'An action has been due for three minutes, and nobody has taken it.',
  },
  {
    name: 'DuelineTicksStopped',
    expr: ({ app }) => `sum(increase(dueline_campaign_ticks_total{${app}}[5m])) == 0`,
    for: '5m',
    severity: 'page',
    summary: "No campaign tick for five minutes; campaigns start by the dispatchers' own clocks alone.",
  },
  {
    name: 'DuelineRowsRecovered',
    expr: ({ app }) =>
      `sum(increase(dueline_rows_recovered_total{${app},what=~"scheduled_action|delivery|deadly_row"}[30m])) > 100`,
    for: '5m',
    severity: 'ticket',
    summary: 'Workers die, or are too slow for their leases.',
  },
  {
    name: 'DuelineDeadlyRow',
    expr: ({ app }) => `sum(increase(dueline_rows_recovered_total{${app},what="deadly_row"}[1h])) > 0`,
    for: '1m',
    severity: 'ticket',
    summary: 'A row ended the process that decided it.',
  },
  {
    name: 'DuelineTicketsLost',
    expr: ({ app }) => `sum(increase(dueline_actions_released_total{${app}}[30m])) > 0`,
    for: '15m',
    severity: 'ticket',
    summary: 'RabbitMQ lost tickets; their actions ran later.',
  },
  {
    name: 'DuelineActionsStuck',
    expr: ({ app }) => `max(dueline_actions_stuck{${app}}) > 0`,
    for: '10m',
    severity: 'ticket',
    summary: 'Claimed actions are past their leases, and nobody takes them back.',
  },
  {
    name: 'DuelineMonthMissing',
    expr: ({ app }) => `min by (table) (dueline_partition_months_ahead{${app}}) < 1`,
    for: '1h',
    severity: 'ticket',
    summary: 'History has no place for the next month.',
  },
  {
    name: 'DuelineVersionsMixed',
    expr: ({ all }) => `count(count by (version) (dueline_build_info{${all}})) > 1`,
    for: '1h',
    severity: 'ticket',
    summary: 'Processes of more than one version have run side by side for an hour.',
  },
];
