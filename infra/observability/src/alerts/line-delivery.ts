import type { Alert } from '../alert.ts';

export const lineDelivery: readonly Alert[] = [
  {
    name: 'DuelineAccountNeedsPerson',
    expr: ({ app }) =>
      `sum by (reason) (increase(dueline_account_pauses_total{${app},reason=~"token_refused|forbidden"}[15m])) > 0`,
    for: '1m',
    severity: 'page',
    summary: 'LINE refuses an account; nothing is sent for it until a person helps.',
  },
  {
    name: 'DuelineMonthUsedUp',
    expr: ({ app }) => `sum(increase(dueline_account_pauses_total{${app},reason="monthly_limit"}[1h])) > 0`,
    for: '1m',
    severity: 'ticket',
    summary: "An account has used up its month's messages.",
  },
  {
    name: 'DuelineHeldBackAgain',
    expr: ({ app }) => `sum(increase(dueline_account_pauses_total{${app},reason="held_back"}[6h])) > 3`,
    for: '1m',
    severity: 'ticket',
    summary: 'LINE refuses for want of messages again and again, though its numbers show some.',
  },
  {
    name: 'DuelineBreakerOpens',
    expr: ({ app }) => `sum(increase(dueline_breaker_opened_total{${app}}[10m])) > 0`,
    for: '30m',
    severity: 'page',
    summary: 'For half an hour LINE has been refusing messages without a reason.',
  },
  {
    name: 'DuelineLineUnauthorized',
    expr: ({ app }) => `sum(rate(dueline_line_attempts_total{${app},outcome="auth"}[15m])) > 0.1`,
    for: '30m',
    severity: 'ticket',
    summary: 'LINE refuses tokens all the time; one cannot be opened or issued.',
  },
  {
    name: 'DuelineLimitsNotShared',
    expr: ({ app }) => `min(dueline_line_limits_shared{${app}}) == 0`,
    for: '5m',
    severity: 'ticket',
    summary: "A replica of line-delivery cannot reach Redis and sends at its part of LINE's limits alone.",
  },
  {
    name: 'DuelineRateHalved',
    expr: ({ app }) => `min(dueline_line_rate_ratio{${app}}) < 0.5`,
    for: '5m',
    severity: 'ticket',
    summary: 'An account is sent to at less than half its rate, because LINE answers 429.',
  },
  {
    name: 'DuelineDeliveriesPutBack',
    expr: ({ app }) => `sum(rate(dueline_line_put_back_total{${app}}[10m])) > 0`,
    for: '2h',
    severity: 'ticket',
    summary: 'An account has been at its limit for two hours.',
  },
  {
    name: 'DuelineCampaignPaused',
    expr: ({ app }) => `sum(increase(dueline_campaigns_paused_total{${app}}[15m])) > 0`,
    for: '1m',
    severity: 'ticket',
    summary: 'A campaign paused itself, because LINE refused too many of its requests.',
  },
  {
    name: 'DuelinePeopleMissing',
    expr: ({ app }) => `sum(increase(dueline_sent_counts_total{${app},result="deficit"}[1d])) > 0`,
    for: '1m',
    severity: 'ticket',
    summary: 'LINE counted fewer people for a day than it had accepted messages for.',
  },
];
