import type { Alert } from '../alert.ts';

export const pgListener: readonly Alert[] = [
  {
    name: 'DuelineEventsWait',
    expr: ({ app }) => `max(dueline_outbox_oldest_seconds{${app}}) > 120`,
    for: '5m',
    severity: 'page',
    summary: 'An event has not been decided for two minutes.',
  },
  {
    name: 'DuelineListenerDeaf',
    expr: ({ app }) => `max(dueline_listener_connected{${app}}) == 0`,
    for: '10m',
    severity: 'ticket',
    summary: "pg-listener does not hear PostgreSQL's notifications; events are found by polling.",
  },
  {
    name: 'DuelineNotifyQueueFills',
    expr: ({ app }) => `max(dueline_notify_queue_ratio{${app}}) > 0.1`,
    for: '5m',
    severity: 'ticket',
    summary: "PostgreSQL's queue of notifications fills up; full, every change of a customer would fail.",
  },
];
