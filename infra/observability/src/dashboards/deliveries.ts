import { type Dashboard, EVERY, OF, perSecond, quantile } from '../dashboard.ts';

/** Campaigns, and everything that goes to LINE or to receivers of webhooks. */
export const deliveries: Dashboard = {
  uid: 'dueline-deliveries',
  title: 'Dueline: campaigns and LINE',
  description: 'Campaigns, and everything that goes to LINE or to receivers of webhooks.',
  rows: [
    {
      title: 'Campaigns',
      panels: [
        {
          title: 'Lateness of starts',
          description: 'How long after its time a campaign was claimed for the first time.',
          kind: 'timeseries',
          unit: 's',
          queries: [
            { expr: quantile(0.5, 'dueline_campaign_start_lateness_seconds'), legend: 'half' },
            { expr: quantile(0.99, 'dueline_campaign_start_lateness_seconds'), legend: '99 in 100' },
          ],
        },
        {
          title: 'Being sent, and silent',
          description:
            'Campaigns that are being sent, and for how many seconds the most silent of them has given no sign of life: at 900 it is taken back.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: `max(dueline_campaigns_sending{${OF}})`, legend: 'campaigns' },
            { expr: `max(dueline_campaign_heartbeat_age_seconds{${OF}})`, legend: 'seconds of silence' },
          ],
        },
        {
          title: 'Oldest due campaign',
          description: 'For how long a campaign of a working account has been due and not started.',
          kind: 'timeseries',
          unit: 's',
          queries: [{ expr: `max(dueline_campaigns_oldest_due_seconds{${OF}})`, legend: 'oldest' }],
        },
        {
          title: 'Claimed, taken back, paused',
          description:
            'Campaigns whose time had come, that gave no sign of life or died with their dispatcher, and that paused themselves.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [
            { expr: `sum(rate(dueline_campaigns_claimed_total{${OF}}[${EVERY}]))`, legend: 'claimed' },
            { expr: perSecond('dueline_campaigns_reaped_total', 'reason'), legend: '{{reason}}' },
            { expr: `sum(rate(dueline_campaigns_paused_total{${OF}}[${EVERY}]))`, legend: 'paused' },
          ],
        },
        {
          title: 'Ticks',
          description: 'Campaign ticks by what became of them; one in a minute is published by one of the schedulers.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_campaign_ticks_total', 'result'), legend: '{{result}}' }],
        },
      ],
    },
    {
      title: 'LINE',
      panels: [
        {
          title: 'Requests',
          description: 'Requests to LINE by what they proved.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [{ expr: perSecond('dueline_line_attempts_total', 'outcome'), legend: '{{outcome}}' }],
        },
        {
          title: 'Duration of requests',
          description: 'From the decision to call LINE until it was known what that proved, by endpoint: 99 in 100.',
          kind: 'timeseries',
          unit: 's',
          queries: [{ expr: quantile(0.99, 'dueline_line_request_seconds', ['endpoint']), legend: '{{endpoint}}' }],
        },
        {
          title: 'Permits',
          description:
            'Permits to call LINE that were taken, and deliveries put back because theirs was more than a second away.',
          kind: 'timeseries',
          unit: 'ops',
          queries: [
            { expr: `sum(rate(dueline_line_permits_total{${OF}}[${EVERY}]))`, legend: 'taken' },
            { expr: `sum(rate(dueline_line_put_back_total{${OF}}[${EVERY}]))`, legend: 'put back' },
          ],
        },
        {
          title: 'Wait for a permit',
          description: 'How long permits were waited for: 99 in 100.',
          kind: 'timeseries',
          unit: 's',
          queries: [{ expr: quantile(0.99, 'dueline_line_permit_wait_seconds'), legend: '99 in 100' }],
        },
        {
          title: 'Lowest rate of an account',
          description: 'As a part of what we allow ourselves; each 429 of LINE halves it.',
          kind: 'timeseries',
          unit: 'percentunit',
          queries: [{ expr: `min(dueline_line_rate_ratio{${OF}})`, legend: 'rate' }],
        },
        {
          title: 'Limits shared, rates halved',
          description: '1 while all replicas share the limits in Redis; and how often a rate was halved in an hour.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: `min(dueline_line_limits_shared{${OF}})`, legend: 'shared' },
            { expr: `sum(increase(dueline_line_rate_halvings_total{${OF}}[1h]))`, legend: 'halved in an hour' },
          ],
        },
      ],
    },
    {
      title: 'Accounts, and who else is told',
      panels: [
        {
          title: 'Accounts paused',
          description: 'Accounts that were paused in an hour, by why. token_refused and forbidden need a person.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            { expr: `sum by (reason) (increase(dueline_account_pauses_total{${OF}}[1h]))`, legend: '{{reason}}' },
          ],
        },
        {
          title: 'Pauses that ended, breakers that opened',
          description: 'Pauses that ended by themselves in an hour, by why; and breakers that opened.',
          kind: 'timeseries',
          unit: 'short',
          queries: [
            {
              expr: `sum by (reason) (increase(dueline_account_unpauses_total{${OF}}[1h]))`,
              legend: 'ended: {{reason}}',
            },
            { expr: `sum(increase(dueline_breaker_opened_total{${OF}}[1h]))`, legend: 'breakers' },
          ],
        },
        {
          title: 'Webhooks',
          description: 'Calls of receivers of webhooks by what they proved.',
          kind: 'timeseries',
          unit: 'ops',
          mayBeEmpty: true,
          queries: [{ expr: perSecond('dueline_webhook_attempts_total', 'outcome'), legend: '{{outcome}}' }],
        },
        {
          title: "Days compared with LINE's counts",
          description:
            'Days of accounts that were compared in a day, by how that came out. A deficit is looked at by a person.',
          kind: 'timeseries',
          unit: 'short',
          queries: [{ expr: `sum by (result) (increase(dueline_sent_counts_total{${OF}}[1d]))`, legend: '{{result}}' }],
        },
      ],
    },
  ],
};
