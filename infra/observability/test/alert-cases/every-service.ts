import type { AlertCase } from './alert-case.ts';

const anyApp = 'cron-scheduler';
const anyConsumer = 'trigger-worker';

/** What every app has, tried with one of them. */
export const EVERY_SERVICE: readonly AlertCase[] = [
  {
    ...{ alert: 'DuelineDown', app: anyApp, at: '8m' },
    rings: { 'up{$app}': '1 1 0x10' },
    silent: { 'one of two replicas answers': { 'up{$app,pod="a"}': '0x10', 'up{$app,pod="b"}': '1x10' } },
  },
  {
    ...{ alert: 'DuelineBrokerBlocked', app: anyApp, at: '4m' },
    rings: { 'dueline_mq_blocked{$app,pod="a"}': '0 1x10', 'dueline_mq_blocked{$app,pod="b"}': '0x10' },
    silent: { 'it was blocked for a moment': { 'dueline_mq_blocked{$app}': '0 1 0x10' } },
  },
  {
    ...{ alert: 'DuelineNotSubscribed', app: anyConsumer, at: '4m', labels: { queue: 'action_execute' } },
    rings: {
      'dueline_mq_consumer_up{$app,queue="action_execute"}': '1 0x10',
      'dueline_mq_consumer_up{$app,queue="webhook_call"}': '1x10',
    },
    silent: {
      'another replica is subscribed': {
        'dueline_mq_consumer_up{$app,pod="a",queue="action_execute"}': '0x10',
        'dueline_mq_consumer_up{$app,pod="b",queue="action_execute"}': '1x10',
      },
    },
  },
  {
    ...{ alert: 'DuelineTaskStopped', app: anyApp, at: '20m', labels: { task: 'recover' } },
    rings: {
      'dueline_task_last_success_timestamp_seconds{$app,task="recover"}': '0x30',
      'dueline_task_interval_seconds{$app,task="recover"}': '20x30',
    },
    silent: {
      'it goes well in one replica': {
        'dueline_task_last_success_timestamp_seconds{$app,task="recover",pod="a"}': '0x30',
        'dueline_task_last_success_timestamp_seconds{$app,task="recover",pod="b"}': '0+60x30',
        'dueline_task_interval_seconds{$app,task="recover"}': '20x30',
      },
      'it has all the time that it needs': {
        'dueline_task_last_success_timestamp_seconds{$app,task="partitions"}': '0x30',
        'dueline_task_interval_seconds{$app,task="partitions"}': '600x30',
      },
    },
  },
  {
    ...{ alert: 'DuelineConnectionsUsedUp', app: anyApp, at: '15m' },
    rings: { 'dueline_database_waiting{$app,pod="a"}': '7x20', 'dueline_database_waiting{$app,pod="b"}': '0x20' },
    silent: { 'it waits now and then': { 'dueline_database_waiting{$app}': '9 0 9 0 9 0 9 0 9 0 9 0 9 0 9 0 9 0' } },
  },
  {
    ...{ alert: 'DuelineDeadLetters', app: anyConsumer, at: '6m', labels: { queue: 'attribute_changed' } },
    rings: { 'dueline_mq_consume_total{$app,queue="attribute_changed",result="dead_lettered"}': '0 0 0 1x10' },
    silent: {
      'all are done': {
        'dueline_mq_consume_total{$app,queue="attribute_changed",result="dead_lettered"}': '3x10',
        'dueline_mq_consume_total{$app,queue="attribute_changed",result="done"}': '0+100x10',
      },
    },
  },
  {
    ...{ alert: 'DuelineHandlersFail', app: anyConsumer, at: '25m', labels: { queue: 'attribute_changed' } },
    // No message ever ends, so that there is nothing to compare with.
    rings: { 'dueline_mq_handler_failures_total{$app,queue="attribute_changed",kind="transient"}': '0+60x30' },
    silent: {
      'one in a hundred fails': {
        'dueline_mq_handler_failures_total{$app,queue="attribute_changed",kind="transient"}': '0+60x30',
        'dueline_mq_consume_total{$app,queue="attribute_changed",result="done"}': '0+6000x30',
      },
    },
  },
  {
    ...{ alert: 'DuelineReconnects', app: anyApp, at: '20m', labels: { role: 'publish' } },
    rings: { 'up{$app}': '1x30', 'dueline_mq_connections_total{$app,role="publish"}': '1+2x30' },
    silent: {
      'a broker is restarted once': {
        'up{$app}': '1x30',
        'dueline_mq_connections_total{$app,role="publish"}': '1x10 2x20',
      },
      'many replicas lose theirs once': {
        'up{$app,pod="a"}': '1x30',
        'up{$app,pod="b"}': '1x30',
        'dueline_mq_connections_total{$app,role="publish"}': '2x10 14x20',
      },
    },
  },
  {
    ...{ alert: 'DuelineUnmeasured', app: anyApp, at: '20m', labels: { metric: 'dueline_outbox_rows' } },
    rings: { 'dueline_metric_collect_errors_total{$app,metric="dueline_outbox_rows"}': '0+1x30' },
    silent: {
      'it failed once': { 'dueline_metric_collect_errors_total{$app,metric="dueline_outbox_rows"}': '0x9 1x30' },
    },
  },
  {
    ...{ alert: 'DuelineEventLoopLate', app: anyApp, at: '12m' },
    rings: {
      'nodejs_eventloop_lag_p99_seconds{$app,pod="a"}': '1.5x15',
      'nodejs_eventloop_lag_p99_seconds{$app,pod="b"}': '0.01x15',
    },
    silent: { 'it is late for half a second': { 'nodejs_eventloop_lag_p99_seconds{$app}': '0.5x15' } },
  },
];
