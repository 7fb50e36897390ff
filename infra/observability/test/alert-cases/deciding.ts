import type { AlertCase } from './alert-case.ts';

/** Of what happens and what is decided of it: pg-listener, trigger-worker and cron-scheduler. */
export const DECIDING: readonly AlertCase[] = [
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
  {
    ...{ alert: 'DuelineNotifyQueueFills', app: 'pg-listener', at: '8m' },
    rings: { 'dueline_notify_queue_ratio{$app}': '0 0.2x10' },
    silent: { 'it is nearly empty': { 'dueline_notify_queue_ratio{$app}': '0.01x10' } },
  },
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
