import { type Dashboard, EVERY, OF, type Panel, perSecond, quantile } from '../dashboard.ts';

const now = (panel: Omit<Panel, 'kind'>): Panel => ({ kind: 'stat', ...panel });

/** Whether everything is on time, at a glance. */
export const overview: Dashboard = {
  uid: 'dueline-overview',
  title: 'Dueline: overview',
  description: 'Is everything on time? Green above, and the rest is detail.',
  rows: [
    {
      title: 'Is everything on time?',
      panels: [
        now({
          title: 'Oldest due action',
          description:
            'For how long the oldest due action of a working account has waited to be taken. An alert rings at 180 s.',
          unit: 's',
          thresholds: { warn: 10, alarm: 180 },
          queries: [{ expr: `max(dueline_actions_oldest_due_seconds{${OF}})`, legend: 'waiting' }],
        }),
        now({
          title: 'Oldest undecided event',
          description:
            'Age of the oldest change, click or form that no rule has been decided for. An alert rings at 120 s.',
          unit: 's',
          thresholds: { warn: 10, alarm: 120 },
          queries: [{ expr: `max(dueline_outbox_oldest_seconds{${OF}})`, legend: 'waiting' }],
        }),
        now({
          title: 'Oldest due campaign',
          description:
            'For how long a campaign of a working account has been due and not started. An alert rings at 90 s.',
          unit: 's',
          thresholds: { warn: 10, alarm: 90 },
          queries: [{ expr: `max(dueline_campaigns_oldest_due_seconds{${OF}})`, legend: 'waiting' }],
        }),
        now({
          title: 'Actions over 10 s late',
          description:
            'Part of the actions of the last hour that were decided more than ten seconds late. The allowance is 0.5 % in 28 days.',
          unit: 'percentunit',
          thresholds: { warn: 0.005, alarm: 0.072 },
          queries: [
            {
              expr: `1 - sum(rate(dueline_action_lateness_seconds_bucket{${OF},le="10"}[1h])) / sum(rate(dueline_action_lateness_seconds_count{${OF}}[1h]))`,
              legend: 'late',
            },
          ],
        }),
        now({
          title: 'Apps that answer',
          description: 'Replicas that answer scrapes, by app. An app without one is down.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (job) (up{${OF},job=~"pg-listener|trigger-worker|cron-scheduler|campaign-dispatcher|line-delivery"})`,
              legend: '{{job}}',
            },
          ],
        }),
        now({
          title: 'Alerts that ring',
          description: 'Alerts of Dueline that ring now. Each has its page of docs/alerts.md.',
          unit: 'short',
          thresholds: { warn: 1, alarm: 3 },
          queries: [
            {
              expr: 'count by (alertname) (ALERTS{alertname=~"Dueline.+",alertstate="firing"}) or vector(0)',
              legend: '{{alertname}}',
            },
          ],
        }),
      ],
    },
    {
      title: 'What is done',
      panels: [
        {
          title: 'Lateness of actions',
          description: 'How long after its time an action was decided: half of them, and 99 in 100.',
          kind: 'timeseries',
          unit: 's',
          queries: [
            { expr: quantile(0.5, 'dueline_action_lateness_seconds'), legend: 'half' },
            { expr: quantile(0.99, 'dueline_action_lateness_seconds'), legend: '99 in 100' },
          ],
        },
        {
          title: 'Decisions',
          description: 'What rules decided, about events and about actions that were due.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_decisions_total', 'decision'), legend: '{{decision}}' }],
        },
        {
          title: 'Requests to LINE',
          description:
            'Requests by what they proved. What is neither accepted nor already there is tried again, or waits for a person.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_line_attempts_total', 'outcome'), legend: '{{outcome}}' }],
        },
        {
          title: 'Messages that were not done',
          description:
            'Part of the messages within Dueline that ended otherwise than done or discarded. It should be 0.',
          kind: 'timeseries',
          unit: 'percentunit',
          queries: [
            {
              expr: `sum by (job) (rate(dueline_mq_consume_total{${OF},result!~"done|discarded"}[${EVERY}])) / sum by (job) (rate(dueline_mq_consume_total{${OF}}[${EVERY}]))`,
              legend: '{{job}}',
            },
          ],
        },
      ],
    },
  ],
};
