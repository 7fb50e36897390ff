import { QUEUES } from '@dueline/contracts';
import type { Alert } from '../alert.ts';

/** A queue's name as a regular expression. */
const names = QUEUES.map(({ name }) => name.replaceAll('.', '[.]')).join('|');

/** What RabbitMQ and PostgreSQL tell of themselves. */
export const infrastructure: readonly Alert[] = [
  {
    name: 'DuelineQueueWithoutConsumer',
    expr: () => `sum by (queue) (rabbitmq_detailed_queue_consumers{queue=~"${names}"}) == 0`,
    for: '2m',
    severity: 'page',
    summary: 'Nobody consumes a queue.',
  },
  {
    name: 'DuelineDeadLettersLie',
    expr: () => `sum by (queue) (rabbitmq_detailed_queue_messages_ready{queue=~"(${names})[.]dlq"}) > 0`,
    for: '10m',
    severity: 'ticket',
    summary: 'Messages that were given up lie in a dead-letter queue.',
  },
  {
    name: 'DuelineBrokerAlarm',
    expr: () => 'max(rabbitmq_alarms_memory_used_watermark) > 0 or max(rabbitmq_alarms_free_disk_space_watermark) > 0',
    for: '2m',
    severity: 'page',
    summary: 'RabbitMQ is at its limit of memory or disk, and takes no messages.',
  },
  {
    name: 'DuelineLongTransaction',
    expr: () => 'max by (datname) (pg_stat_activity_max_tx_duration{state!="idle"}) > 300',
    for: '5m',
    severity: 'ticket',
    summary: 'A transaction of the database has been open for five minutes; claims get slower.',
  },
];
