/** One alert, series with which it must ring, and series with which it must not. */
export type AlertCase = {
  readonly alert: string;
  /** The app whose alert it is. */
  readonly app: string;
  /** Values each minute, in promtool's notation, by the series; `$app` stands for the app's labels. */
  readonly rings: Readonly<Record<string, string>>;
  readonly silent: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** When it is looked. */
  readonly at: string;
  /** Labels that the alert takes from its series. */
  readonly labels?: Readonly<Record<string, string>>;
};

const anyApp = 'cron-scheduler';
const anyConsumer = 'trigger-worker';

/** What every app has, tried with one of them. */
const EVERY_SERVICE: readonly AlertCase[] = [
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

const PG_LISTENER: readonly AlertCase[] = [
  {
    ...{ alert: 'DuelineEventsWait', app: 'pg-listener', at: '9m' },
    rings: { 'dueline_outbox_oldest_seconds{$app}': '0+60x10' },
    silent: {
      'each is decided within a minute': { 'dueline_outbox_oldest_seconds{$app}': '60x10' },
      'what waited is decided': { 'dueline_outbox_oldest_seconds{$app}': '0+60x5 0x5' },
    },
  },
  {
    ...{ alert: 'DuelineListenerDeaf', app: 'pg-listener', at: '12m' },
    rings: { 'dueline_listener_connected{$app,pod="a"}': '1 0x20', 'dueline_listener_connected{$app,pod="b"}': '0x20' },
    silent: {
      'one of two hears': {
        'dueline_listener_connected{$app,pod="a"}': '0x20',
        'dueline_listener_connected{$app,pod="b"}': '1x20',
      },
    },
  },
];

const NOTIFY: readonly AlertCase[] = [
  {
    ...{ alert: 'DuelineNotifyQueueFills', app: 'pg-listener', at: '8m' },
    rings: { 'dueline_notify_queue_ratio{$app}': '0 0.2x10' },
    silent: { 'it is nearly empty': { 'dueline_notify_queue_ratio{$app}': '0.01x10' } },
  },
];

const TRIGGER_WORKER: readonly AlertCase[] = [
  {
    ...{ alert: 'DuelineNothingDecided', app: 'trigger-worker', at: '19m' },
    rings: {
      'dueline_decisions_total{$app,kind="event",decision="fired"}': '7x20',
      'dueline_outbox_oldest_seconds{job="pg-listener"}': '0+60x20',
    },
    silent: {
      'nothing happens': {
        'dueline_decisions_total{$app,kind="event",decision="fired"}': '7x20',
        'dueline_outbox_oldest_seconds{job="pg-listener"}': '0x20',
      },
      'it decides, and is behind': {
        'dueline_decisions_total{$app,kind="event",decision="fired"}': '7+60x20',
        'dueline_outbox_oldest_seconds{job="pg-listener"}': '0+60x20',
      },
    },
  },
  {
    ...{ alert: 'DuelineDueUnheard', app: 'trigger-worker', at: '12m' },
    rings: { 'dueline_listener_connected{$app}': '0x20' },
    silent: {
      'it hears': { 'dueline_listener_connected{$app}': '1x20' },
      'it is told not to listen': { 'up{$app}': '1x20' },
    },
  },
];

const LATENESS: readonly AlertCase[] = [
  {
    ...{ alert: 'DuelineLateNow', app: 'trigger-worker', at: '70m' },
    rings: {
      'dueline_action_lateness_seconds_bucket{$app,le="10"}': '0+9x90',
      'dueline_action_lateness_seconds_count{$app}': '0+10x90',
    },
    silent: {
      'one in a hundred is late': {
        'dueline_action_lateness_seconds_bucket{$app,le="10"}': '0+99x90',
        'dueline_action_lateness_seconds_count{$app}': '0+100x90',
      },
      'they were late, and are not any more': {
        'dueline_action_lateness_seconds_bucket{$app,le="10"}': '0+5x50 250+10x40',
        'dueline_action_lateness_seconds_count{$app}': '0+10x50 500+10x40',
      },
      'nothing is due': {
        'dueline_action_lateness_seconds_bucket{$app,le="10"}': '5x90',
        'dueline_action_lateness_seconds_count{$app}': '9x90',
      },
    },
  },
  {
    ...{ alert: 'DuelineLateAgain', app: 'trigger-worker', at: '7h' },
    rings: {
      'dueline_action_lateness_seconds_bucket{$app,le="10"}': '0+95x480',
      'dueline_action_lateness_seconds_count{$app}': '0+100x480',
    },
    silent: {
      'one in a hundred is late': {
        'dueline_action_lateness_seconds_bucket{$app,le="10"}': '0+99x480',
        'dueline_action_lateness_seconds_count{$app}': '0+100x480',
      },
    },
  },
];

const CRON_SCHEDULER: readonly AlertCase[] = [
  {
    ...{ alert: 'DuelineActionsStuck', app: 'cron-scheduler', at: '13m' },
    rings: { 'dueline_actions_stuck{$app}': '0 3x20' },
    silent: { 'they are taken back': { 'dueline_actions_stuck{$app}': '0 3 3 0x20' } },
  },
  {
    ...{ alert: 'DuelineMonthMissing', app: 'cron-scheduler', at: '70m', labels: { table: 'trigger_log' } },
    rings: { 'dueline_partition_months_ahead{$app,table="trigger_log"}': '0x90' },
    silent: { 'next month is there': { 'dueline_partition_months_ahead{$app,table="trigger_log"}': '1x90' } },
  },
  {
    ...{ alert: 'DuelineVersionsMixed', app: 'cron-scheduler', at: '90m' },
    rings: {
      'dueline_build_info{$app,version="0.2.0"}': '1x100',
      'dueline_build_info{job="trigger-worker",version="0.1.0"}': '1x100',
    },
    silent: {
      'all are of one version': {
        'dueline_build_info{$app,version="0.2.0"}': '1x100',
        'dueline_build_info{job="trigger-worker",version="0.2.0"}': '1x100',
      },
      'an update takes half an hour': {
        'dueline_build_info{$app,version="0.2.0"}': '1x100',
        'dueline_build_info{job="trigger-worker",version="0.1.0"}': '1x60 stale',
        'dueline_build_info{job="trigger-worker",version="0.2.0"}': '_x60 1x40',
      },
    },
  },
  {
    ...{ alert: 'DuelineActionsLate', app: 'cron-scheduler', at: '9m' },
    rings: { 'dueline_actions_oldest_due_seconds{$app}': '0+60x10' },
    silent: { 'all are taken in time': { 'dueline_actions_oldest_due_seconds{$app}': '2x10' } },
  },
  {
    ...{ alert: 'DuelineTicksStopped', app: 'cron-scheduler', at: '16m' },
    rings: { 'dueline_campaign_ticks_total{$app,result="published"}': '0+1x4 4x20' },
    silent: {
      'the other replica ticks': {
        'dueline_campaign_ticks_total{$app,pod="a",result="published"}': '4x20',
        'dueline_campaign_ticks_total{$app,pod="b",result="published"}': '0+1x20',
      },
    },
  },
  {
    ...{ alert: 'DuelineRowsRecovered', app: 'cron-scheduler', at: '20m' },
    rings: { 'dueline_rows_recovered_total{$app,what="scheduled_action"}': '0+10x30' },
    silent: {
      'a pod was replaced': { 'dueline_rows_recovered_total{$app,what="scheduled_action"}': '0x5 50x30' },
      'what was too late was closed': { 'dueline_rows_recovered_total{$app,what="overdue_delivery"}': '0+100x30' },
    },
  },
  {
    ...{ alert: 'DuelineDeadlyRow', app: 'cron-scheduler', at: '10m' },
    rings: { 'dueline_rows_recovered_total{$app,what="deadly_row"}': '0x5 1x10' },
    silent: {
      'pods died of other things': { 'dueline_rows_recovered_total{$app,what="scheduled_action"}': '0x5 9x10' },
    },
  },
  {
    ...{ alert: 'DuelineTicketsLost', app: 'cron-scheduler', at: '25m' },
    rings: { 'dueline_actions_released_total{$app,why="queue_empty"}': '0x5 40x30' },
    silent: { 'none is lost': { 'dueline_actions_released_total{$app,why="queue_empty"}': '40x30' } },
  },
];

const LINE_DELIVERY: readonly AlertCase[] = [
  {
    ...{ alert: 'DuelineAccountNeedsPerson', app: 'line-delivery', at: '8m', labels: { reason: 'token_refused' } },
    rings: { 'dueline_account_pauses_total{$app,reason="token_refused"}': '0x5 1x10' },
    silent: { 'a month is used up': { 'dueline_account_pauses_total{$app,reason="monthly_limit"}': '0x5 1x10' } },
  },
  {
    ...{ alert: 'DuelineMonthUsedUp', app: 'line-delivery', at: '8m' },
    rings: { 'dueline_account_pauses_total{$app,reason="monthly_limit"}': '0x5 1x10' },
    silent: { 'a token was refused': { 'dueline_account_pauses_total{$app,reason="token_refused"}': '0x5 1x10' } },
  },
  {
    ...{ alert: 'DuelineHeldBackAgain', app: 'line-delivery', at: '5h' },
    rings: { 'dueline_account_pauses_total{$app,reason="held_back"}': '0x60 1x60 2x60 3x60 5x60' },
    silent: { 'it was held back once': { 'dueline_account_pauses_total{$app,reason="held_back"}': '0x60 1x300' } },
  },
  {
    ...{ alert: 'DuelineBreakerOpens', app: 'line-delivery', at: '45m' },
    rings: { 'dueline_breaker_opened_total{$app}': '0+1x50' },
    silent: { 'LINE was unwell for five minutes': { 'dueline_breaker_opened_total{$app}': '0x10 1x50' } },
  },
  {
    ...{ alert: 'DuelineLineUnauthorized', app: 'line-delivery', at: '50m' },
    rings: { 'dueline_line_attempts_total{$app,outcome="auth"}': '0+60x60' },
    silent: {
      'a token ended': {
        'dueline_line_attempts_total{$app,outcome="auth"}': '0x10 5x60',
        'dueline_line_attempts_total{$app,outcome="accepted"}': '0+600x60',
      },
    },
  },
  {
    ...{ alert: 'DuelineLimitsNotShared', app: 'line-delivery', at: '8m' },
    rings: { 'dueline_line_limits_shared{$app,pod="a"}': '0x10', 'dueline_line_limits_shared{$app,pod="b"}': '1x10' },
    silent: { 'all share': { 'dueline_line_limits_shared{$app}': '1 0 1x10' } },
  },
  {
    ...{ alert: 'DuelineRateHalved', app: 'line-delivery', at: '8m' },
    rings: { 'dueline_line_rate_ratio{$app,pod="a"}': '0.25x10', 'dueline_line_rate_ratio{$app,pod="b"}': '1x10' },
    silent: { 'one was halved once': { 'dueline_line_rate_ratio{$app}': '0.5x10' } },
  },
  {
    ...{ alert: 'DuelineDeliveriesPutBack', app: 'line-delivery', at: '150m' },
    rings: { 'dueline_line_put_back_total{$app}': '0+5x200' },
    silent: { 'a campaign took an hour': { 'dueline_line_put_back_total{$app}': '0+5x60 300x200' } },
  },
  {
    ...{ alert: 'DuelineCampaignPaused', app: 'line-delivery', at: '8m' },
    rings: { 'dueline_campaigns_paused_total{$app}': '0x5 1x10' },
    silent: { 'none was': { 'dueline_campaigns_paused_total{$app}': '1x20' } },
  },
  {
    ...{ alert: 'DuelinePeopleMissing', app: 'line-delivery', at: '2h' },
    rings: { 'dueline_sent_counts_total{$app,result="deficit"}': '0x60 1x120' },
    silent: { 'the counts agree': { 'dueline_sent_counts_total{$app,result="agrees"}': '0x60 1x120' } },
  },
];

const OTHERS: readonly AlertCase[] = [
  {
    ...{ alert: 'DuelineCampaignsLate', app: 'campaign-dispatcher', at: '8m' },
    rings: { 'dueline_campaigns_oldest_due_seconds{$app}': '0+60x10' },
    silent: { 'each starts in time': { 'dueline_campaigns_oldest_due_seconds{$app}': '1x10' } },
  },
  {
    ...{ alert: 'DuelineCampaignSilent', app: 'campaign-dispatcher', at: '15m' },
    rings: { 'dueline_campaign_heartbeat_age_seconds{$app}': '0+60x20' },
    silent: { 'it sends': { 'dueline_campaign_heartbeat_age_seconds{$app}': '30x20' } },
  },
  {
    ...{ alert: 'DuelineCampaignsTakenBack', app: 'campaign-dispatcher', at: '8m', labels: { reason: 'stale' } },
    rings: { 'dueline_campaigns_reaped_total{$app,reason="stale"}': '0x5 1x10' },
    silent: { 'none was': { 'dueline_campaigns_reaped_total{$app,reason="stale"}': '4x20' } },
  },
  {
    ...{
      alert: 'DuelineQueueWithoutConsumer',
      app: 'dueline',
      at: '4m',
      labels: { queue: 'scheduled_action_fire.now' },
    },
    rings: { 'rabbitmq_detailed_queue_consumers{queue="scheduled_action_fire.now",vhost="/"}': '2 0x10' },
    silent: {
      'one consumer is left': { 'rabbitmq_detailed_queue_consumers{queue="action_execute",vhost="/"}': '2 1x10' },
      'nobody consumes dead letters': {
        'rabbitmq_detailed_queue_consumers{queue="action_execute.dlq",vhost="/"}': '0x10',
      },
      'it is no queue of ours': {
        'rabbitmq_detailed_queue_consumers{queue="scheduled_action_fire_now",vhost="/"}': '0x10',
      },
    },
  },
  {
    ...{ alert: 'DuelineDeadLettersLie', app: 'dueline', at: '12m', labels: { queue: 'action_execute.dlq' } },
    rings: { 'rabbitmq_detailed_queue_messages_ready{queue="action_execute.dlq"}': '0 1x20' },
    silent: {
      'messages wait to be handled': { 'rabbitmq_detailed_queue_messages_ready{queue="action_execute"}': '9x20' },
    },
  },
  {
    ...{ alert: 'DuelineBrokerAlarm', app: 'dueline', at: '4m' },
    rings: {
      'rabbitmq_alarms_memory_used_watermark{instance="a"}': '0x10',
      'rabbitmq_alarms_free_disk_space_watermark{instance="a"}': '1x10',
    },
    silent: {
      'it has enough': {
        'rabbitmq_alarms_memory_used_watermark{instance="a"}': '0x10',
        'rabbitmq_alarms_free_disk_space_watermark{instance="a"}': '0x10',
      },
    },
  },
  {
    ...{ alert: 'DuelineLongTransaction', app: 'dueline', at: '16m', labels: { datname: 'dueline' } },
    rings: { 'pg_stat_activity_max_tx_duration{datname="dueline",state="idle in transaction"}': '0+60x20' },
    silent: { 'each is short': { 'pg_stat_activity_max_tx_duration{datname="dueline",state="active"}': '1x20' } },
  },
];

export const ALERT_CASES: readonly AlertCase[] = [
  ...EVERY_SERVICE,
  ...PG_LISTENER,
  ...NOTIFY,
  ...TRIGGER_WORKER,
  ...LATENESS,
  ...CRON_SCHEDULER,
  ...LINE_DELIVERY,
  ...OTHERS,
];
