import { type Dashboard, EVERY, OF, perSecond, quantile } from '../dashboard.ts';

/** Queues, database and processes. */
export const infrastructure: Dashboard = {
  uid: 'dueline-infrastructure',
  title: 'Dueline: infrastructure',
  description:
    'Queues, database and processes. The first row asks RabbitMQ itself; the longest transaction needs postgres_exporter.',
  rows: [
    {
      title: 'RabbitMQ',
      panels: [
        {
          title: 'Messages that wait',
          description: 'Messages of a queue that wait to be delivered. A dead-letter queue (.dlq) should have none.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            {
              expr: 'max by (queue) (rabbitmq_detailed_queue_messages_ready) > 0 or max(rabbitmq_detailed_queue_messages_ready)',
              legend: '{{queue}}',
            },
          ],
        },
        {
          title: 'Messages in hand',
          description: 'Messages of a queue that were delivered and are not acknowledged.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            {
              expr: 'max by (queue) (rabbitmq_detailed_queue_messages_unacked) > 0 or max(rabbitmq_detailed_queue_messages_unacked)',
              legend: '{{queue}}',
            },
          ],
        },
        {
          title: 'Consumers',
          description:
            'Consumers of each queue. A queue of ours without one stands still; dead-letter queues have none.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            {
              expr: 'max by (queue) (rabbitmq_detailed_queue_consumers{queue!~".*[.]dlq|.*retry.*"})',
              legend: '{{queue}}',
            },
          ],
        },
        {
          title: 'Alarms of the broker',
          description:
            '1 while RabbitMQ is at its limit of memory or disk and takes no messages; and whether apps are blocked.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: 'max(rabbitmq_alarms_memory_used_watermark)', legend: 'memory' },
            { expr: 'max(rabbitmq_alarms_free_disk_space_watermark)', legend: 'disk' },
            { expr: `max by (job) (dueline_mq_blocked{${OF}})`, legend: 'blocked: {{job}}' },
          ],
        },
      ],
    },
    {
      title: 'Messages',
      panels: [
        {
          title: 'Age at delivery',
          description: 'How old a message was when an app got it, by queue: 99 in 100. What grows here piles up.',
          kind: 'timeseries',
          unit: 's',
          queries: [{ expr: quantile(0.99, 'dueline_mq_delivery_age_seconds', ['queue']), legend: '{{queue}}' }],
        },
        {
          title: 'Duration of handling',
          description: 'From delivery to settlement of a message, by queue: 99 in 100.',
          kind: 'timeseries',
          unit: 's',
          queries: [{ expr: quantile(0.99, 'dueline_mq_handler_seconds', ['queue']), legend: '{{queue}}' }],
        },
        {
          title: 'Consumed',
          description:
            'Messages by how they ended. Discarded ones were stale or repeated; dead_lettered ones need a look.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_mq_consume_total', 'result'), legend: '{{result}}' }],
        },
        {
          title: 'Tries that failed',
          description:
            'Tries of a handler that threw, by queue and kind: transient ones are database or broker, unknown ones are faults of ours.',
          kind: 'timeseries',
          unit: 'ops',
          mayBeEmpty: true,
          queries: [
            { expr: perSecond('dueline_mq_handler_failures_total', 'queue, kind'), legend: '{{queue}} {{kind}}' },
          ],
        },
        {
          title: 'Published',
          description: 'Messages by what became of them; only ok means that the broker has one.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_mq_publish_total', 'result'), legend: '{{result}}' }],
        },
        {
          title: 'Duration of publishes',
          description: "From a publish to the broker's confirmation: 99 in 100, by app.",
          kind: 'timeseries',
          unit: 's',
          queries: [{ expr: quantile(0.99, 'dueline_mq_publish_seconds', ['job']), legend: '{{job}}' }],
        },
        {
          title: 'In hand',
          description: 'Messages that apps handle now, and publishes that wait for their confirmation.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: `sum by (job) (dueline_mq_in_hand{${OF}})`, legend: '{{job}}' },
            { expr: `sum by (job) (dueline_mq_unconfirmed{${OF}})`, legend: 'unconfirmed: {{job}}' },
          ],
        },
        {
          title: 'Subscriptions, connections',
          description:
            'Queues to which a replica is not subscribed, and connections to the broker that were made in an hour.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            {
              expr: `count by (job) (dueline_mq_consumer_up{${OF}} == 0) or sum by (job) (0 * dueline_mq_consumer_up{${OF}})`,
              legend: 'not subscribed: {{job}}',
            },
            { expr: `sum by (job) (increase(dueline_mq_connections_total{${OF}}[1h]))`, legend: 'connected: {{job}}' },
          ],
        },
      ],
    },
    {
      title: 'PostgreSQL',
      panels: [
        {
          title: 'Connections',
          description: 'Connections of the apps to the database that are used by work, and work that waits for one.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: `sum by (job) (dueline_database_connections{${OF},state="used"})`, legend: '{{job}}' },
            { expr: `sum by (job) (dueline_database_waiting{${OF}})`, legend: 'waiting: {{job}}' },
          ],
        },
        {
          title: 'Longest transaction',
          description:
            'For how long the oldest transaction has been open, by database and state. Above 300 s an alert rings.',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: 'max by (datname, state) (pg_stat_activity_max_tx_duration{state!="idle"})',
              legend: '{{datname}} {{state}}',
            },
          ],
        },
        {
          title: 'Dead rows of hot tables',
          description:
            'Rows that are dead and not vacuumed, of the tables that change most. They make claims slow when they are many more than live ones.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            {
              expr: `max by (table) (dueline_table_rows{${OF},state="dead"})`,
              legend: '{{table}}',
            },
          ],
        },
        {
          title: 'Metrics that could not be read',
          description: 'Gauges that the database did not answer in a second, in an hour.',
          kind: 'timeseries',
          unit: 'short',
          mayBeEmpty: true,
          queries: [
            {
              expr: `sum by (job, metric) (increase(dueline_metric_collect_errors_total{${OF}}[1h]))`,
              legend: '{{job}} {{metric}}',
            },
          ],
        },
      ],
    },
    {
      title: 'Processes',
      panels: [
        {
          title: 'Event loop',
          description: 'How late the event loop of a process is: 99 in 100. Above 1 s it is late with everything.',
          kind: 'timeseries',
          unit: 's',
          queries: [{ expr: `max by (job) (nodejs_eventloop_lag_p99_seconds{${OF},job!=""})`, legend: '{{job}}' }],
        },
        {
          title: 'Memory',
          description: 'Memory of the largest replica of an app, and its heap. Near the limit of the pod it is ended.',
          kind: 'timeseries',
          unit: 'bytes',
          queries: [
            { expr: `max by (job) (process_resident_memory_bytes{${OF},service!=""})`, legend: '{{job}}' },
            { expr: `max by (job) (nodejs_heap_size_used_bytes{${OF},service!=""})`, legend: 'heap: {{job}}' },
          ],
        },
        {
          title: 'Processor time',
          description: 'Processors that all replicas of an app use; one process uses little more than one.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: `sum by (job) (rate(process_cpu_seconds_total{${OF},service!=""}[${EVERY}]))`, legend: '{{job}}' },
          ],
        },
        {
          title: 'Tasks since they last went well',
          description:
            'For how long what is done again and again has not gone well, in the replica where it went best.',
          kind: 'timeseries',
          unit: 's',
          queries: [
            {
              expr: `time() - max by (job, task) (dueline_task_last_success_timestamp_seconds{${OF}})`,
              legend: '{{job}}: {{task}}',
            },
          ],
        },
        {
          title: 'Tasks that failed',
          description: 'Runs of tasks that failed.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [
            {
              expr: perSecond('dueline_task_runs_total', 'job, task', ',result="failed"'),
              legend: '{{job}}: {{task}}',
            },
          ],
        },
        {
          title: 'Duration of tasks',
          description: 'How long a run of a task takes: 99 in 100.',
          kind: 'timeseries',
          unit: 's',
          queries: [{ expr: quantile(0.99, 'dueline_task_seconds', ['job', 'task']), legend: '{{job}}: {{task}}' }],
        },
      ],
    },
  ],
};
