export {
  type CampaignDraft,
  type CampaignSchedule,
  cancelCampaign,
  createCampaign,
  scheduleCampaign,
} from './author.ts';
export type { Campaign, CampaignChunk } from './campaign.ts';
export { type ClaimedCampaign, claimCampaigns, failLateCampaigns, releaseCampaign } from './claim.ts';
export { closeCampaigns, heartbeatCampaign } from './close.ts';
export { CAMPAIGN_DUE_CHANNEL, campaignsDueWithin } from './due.ts';
export { CAMPAIGN_INVARIANTS } from './invariants.ts';
export { type ErrorLimits, type FailingCampaign, pauseFailingCampaign } from './judge.ts';
export { type LocallyScheduled, type LocalStart, startAtLocalTime } from './local-start.ts';
export { type CampaignDetail, type CampaignPage, type CampaignView, listCampaigns, showCampaign } from './look.ts';
export { getCampaignPace, setCampaignPace } from './pace.ts';
export { reapCampaigns, recoverEarlierBoots } from './reap.ts';
export { type CampaignResult, getCampaignResult } from './result.ts';
export { sendCampaignNow } from './send-now.ts';
export {
  type CampaignStart,
  getCampaignAndValidate,
  type StartOptions,
  startCampaign,
} from './start.ts';
export { TRANSITIONS } from './state.ts';
export { currentTick, type TickKey } from './tick.ts';
