import type { AlertCase } from './alert-case.ts';

/** Of campaigns, and of the servers that all apps use. */
export const AROUND: readonly AlertCase[] = [
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
