import { type Dashboard, OF, perSecond, quantile } from '../dashboard.ts';

/** What happened, what rules made of it, and rules by the calendar. */
export const events: Dashboard = {
  uid: 'dueline-events',
  title: 'Dueline: events and rules',
  description: 'What happened, what rules made of it, and rules by the calendar.',
  rows: [
    {
      title: 'Events',
      panels: [
        {
          title: 'Oldest undecided event',
          description: 'Age of the oldest event that is not decided: no listener or no worker, or they do not keep up.',
          kind: 'timeseries',
          unit: 's',
          queries: [{ expr: `max(dueline_outbox_oldest_seconds{${OF}})`, legend: 'oldest' }],
        },
        {
          title: 'Undecided events',
          description: 'Events that are not decided. It should fall again after each flood.',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: `max(dueline_outbox_rows{${OF}})`, legend: 'events' }],
        },
        {
          title: 'Announced',
          description: 'Events that pg-listener announced, by topic: crowds, and what nobody had decided before.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_outbox_published_total', 'topic'), legend: '{{topic}}' }],
        },
        {
          title: 'Events decided',
          description: 'Straight from the outbox (inline), or announced before (queue).',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_events_taken_total', 'profile'), legend: '{{profile}}' }],
        },
        {
          title: 'Decisions about events',
          description: 'What rules decided about events: fired, suppressed by a limit, failed.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [
            { expr: perSecond('dueline_decisions_total', 'decision', ',kind="event"'), legend: '{{decision}}' },
          ],
        },
        {
          title: 'Who LISTENs',
          description:
            '1 while an app hears notifications of PostgreSQL; with 0 work is found by looking, up to a second later.',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: `max by (job) (dueline_listener_connected{${OF}})`, legend: '{{job}}' }],
        },
        {
          title: 'Queue of notifications',
          description: "How full PostgreSQL's queue of notifications is. Full, every change of a customer fails.",
          kind: 'timeseries',
          unit: 'percentunit',
          queries: [{ expr: `max(dueline_notify_queue_ratio{${OF}})`, legend: 'full' }],
        },
      ],
    },
    {
      title: 'Rules by the calendar',
      panels: [
        {
          title: 'Cycles',
          description: 'Cycles of time-based rules that were opened, left out or completed.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_cycles_total', 'result'), legend: '{{result}}' }],
        },
        {
          title: 'Lateness of cycles',
          description: 'How long after its time a cycle was opened.',
          kind: 'timeseries',
          unit: 's',
          queries: [
            { expr: quantile(0.5, 'dueline_cycle_lateness_seconds'), legend: 'half' },
            { expr: quantile(0.99, 'dueline_cycle_lateness_seconds'), legend: '99 in 100' },
          ],
        },
        {
          title: 'Months of history ahead',
          description: 'Months behind the current one that have their partition. Below 1, an alert rings.',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: `min by (table) (dueline_partition_months_ahead{${OF}})`, legend: '{{table}}' }],
        },
        {
          title: 'History outside of months',
          description:
            'Rows of history that are in no month: a clock was wrong, or nobody made their month. Counted up to 10,000.',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: `max by (table) (dueline_partition_rows_outside{${OF}})`, legend: '{{table}}' }],
        },
        {
          title: 'Months of history that were dropped',
          description: 'Months that were dropped in a day because they are older than they are kept.',
          kind: 'timeseries',
          unit: 'short',
          mayBeEmpty: true,
          queries: [
            { expr: `sum by (table) (increase(dueline_partitions_dropped_total{${OF}}[1d]))`, legend: '{{table}}' },
          ],
        },
        {
          title: 'Work that was removed',
          description: 'Rows that were removed in an hour because their work ended longer ago than it is kept.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: `sum by (table) (increase(dueline_old_rows_removed_total{${OF}}[1h]))`, legend: '{{table}}' },
          ],
        },
      ],
    },
  ],
};
