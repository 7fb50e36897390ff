import type { Alert } from '../alert.ts';

/** What may happen to an app that consumes queues. */
export const everyConsumer: readonly Alert[] = [
  {
    name: 'DuelineNotSubscribed',
    expr: ({ app }) => `max by (queue) (dueline_mq_consumer_up{${app}}) == 0`,
    for: '2m',
    severity: 'page',
    summary: 'No replica of $app is subscribed to a queue that it consumes.',
  },
  {
    name: 'DuelineDeadLetters',
    expr: ({ app }) => `sum by (queue) (increase(dueline_mq_consume_total{${app},result="dead_lettered"}[15m])) > 0`,
    for: '1m',
    severity: 'ticket',
    summary: '$app gave messages up.',
  },
  {
    name: 'DuelineHandlersFail',
    expr: ({ app }) =>
      [
        `sum by (queue) (rate(dueline_mq_handler_failures_total{${app}}[10m])) > 0.1 + 0.05 *`,
        // A queue of which no message ever ends has failures alone.
        `(sum by (queue) (rate(dueline_mq_consume_total{${app}}[10m])) or 0 * sum by (queue) (rate(dueline_mq_handler_failures_total{${app}}[10m])))`,
      ].join(' '),
    for: '10m',
    severity: 'ticket',
    summary: 'More than one in twenty tries of $app fails.',
  },
];
