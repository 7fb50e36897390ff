import type { CampaignStatus } from '@dueline/contracts';

/** Every allowed move; each bumps the fence. The guard trigger of the table refuses everything else; a test compares the two. */
export const TRANSITIONS = {
  draft: ['draft', 'scheduled', 'cancel'],
  scheduled: ['draft', 'scheduled', 'sending', 'paused', 'cancel', 'failed'],
  sending: ['sending', 'scheduled', 'paused', 'cancel', 'sent', 'failed', 'needs_attention'],
  paused: ['draft', 'paused', 'scheduled', 'cancel'],
  sent: [],
  failed: [],
  cancel: [],
  needs_attention: ['draft', 'needs_attention', 'scheduled', 'cancel', 'sent'],
} as const satisfies Record<CampaignStatus, readonly CampaignStatus[]>;

/** What every tick key begins with; the UTC minute follows. Source: the seeds. */
export const campaignTickKeyPrefix = 'CAMPAIGN_SCHEDULE_TICK:';
/** Seconds that a tick key lives, of the sixty of its minute. Source: the seeds. */
export const tickTtlSeconds = 55;
