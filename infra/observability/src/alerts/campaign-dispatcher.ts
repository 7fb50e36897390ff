import type { Alert } from '../alert.ts';

export const campaignDispatcher: readonly Alert[] = [
  {
    name: 'DuelineCampaignsLate',
    expr: ({ app }) => `max(dueline_campaigns_oldest_due_seconds{${app}}) > 90`,
    for: '3m',
    severity: 'page',
    summary: 'A campaign of a working account has been due for minutes, and nobody has started it.',
  },
  {
    name: 'DuelineCampaignSilent',
    expr: ({ app }) => `max(dueline_campaign_heartbeat_age_seconds{${app}}) > 720`,
    for: '1m',
    severity: 'page',
    summary: 'A campaign that is being sent has given no sign of life for twelve minutes.',
  },
  {
    name: 'DuelineCampaignsTakenBack',
    expr: ({ app }) => `sum by (reason) (increase(dueline_campaigns_reaped_total{${app}}[1h])) > 0`,
    for: '1m',
    severity: 'ticket',
    summary: 'Campaigns gave no sign of life and were taken back.',
  },
];
