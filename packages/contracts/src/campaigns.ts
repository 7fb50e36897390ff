/** What a campaign's row may be. Source: the seeds' campaignStatus… constants, and the two states between. */
export const CAMPAIGN_STATUS = {
  draft: 'draft',
  scheduled: 'scheduled',
  sending: 'sending',
  paused: 'paused',
  sent: 'sent',
  failed: 'failed',
  cancel: 'cancel',
  needsAttention: 'needs_attention',
} as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUS)[keyof typeof CAMPAIGN_STATUS];

/** To all friends of an account, or to an audience. Source: the seeds' castType… constants. */
export const CAST_TYPE = { broadcast: 'broadcast', multicast: 'multicast' } as const;
export type CastType = (typeof CAST_TYPE)[keyof typeof CAST_TYPE];

/** LINE's limit of recipients in one multicast. Source: LINE Messaging API reference, "Send multicast message". */
export const MAX_RECIPIENTS_PER_CHUNK = 500;
