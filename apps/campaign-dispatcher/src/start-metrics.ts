import { campaignLiveness } from '@dueline/campaigns';
import { shared } from '@dueline/runtime';
import type { Worker } from '@dueline/worker-app';
import type { PublishDeps } from './process-campaign.ts';

/** Up to the seeds' 15 minutes after which a campaign is taken back, and beyond. */
const LATENESS_SECONDS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 90, 300, 900, 3_600];

/** Measures whether campaigns start in time, and whether those that were started are alive. @returns What is told of each claim. */
export function measureStarts({ db, metrics }: Pick<Worker, 'db' | 'metrics'>): PublishDeps['onClaimed'] {
  const claimed = metrics.counter({
    name: 'dueline_campaigns_claimed_total',
    help: 'Campaigns claimed because their time had come.',
    labels: ['cast_type'],
  });
  const late = metrics.histogram({
    name: 'dueline_campaign_start_lateness_seconds',
    help: 'How long after its start_date a campaign was claimed for the first time, in seconds of product time.',
    buckets: LATENESS_SECONDS,
  });
  const liveness = shared(() => campaignLiveness(db));
  metrics.gauge({
    name: 'dueline_campaigns_sending',
    help: 'Campaigns that are being sent.',
    collect: async (gauge) => gauge.set((await liveness()).sending),
  });
  metrics.gauge({
    name: 'dueline_campaign_heartbeat_age_seconds',
    help: 'For how long the most silent campaign that is being sent has given no sign of life, in seconds of process time.',
    collect: async (gauge) => gauge.set((await liveness()).silentSeconds),
  });
  metrics.gauge({
    name: 'dueline_campaigns_oldest_due_seconds',
    help: 'For how long the oldest campaign of a working account has been due and not claimed, in seconds of product time.',
    collect: async (gauge) => gauge.set((await liveness()).oldestDueSeconds),
  });
  return ({ castType, lateSeconds }) => {
    claimed.inc({ cast_type: castType });
    if (lateSeconds !== undefined) late.observe(lateSeconds);
  };
}
