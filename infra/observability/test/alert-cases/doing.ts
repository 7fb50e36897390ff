import type { AlertCase } from './alert-case.ts';

/** Of what is done: line-delivery. */
export const LINE_DELIVERY: readonly AlertCase[] = [
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
