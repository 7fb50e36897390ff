export {
  type CampaignSchedule,
  type Confirmed,
  cancelCampaign,
  createCampaign,
  scheduleCampaign,
} from './author.ts';
export type { Campaign, CampaignChunk } from './campaign.ts';
export type { StartCheck } from './check-start.ts';
export { type ClaimedCampaign, claimCampaigns, failLateCampaigns, releaseCampaign } from './claim.ts';
export { closeCampaigns, heartbeatCampaign } from './close.ts';
export type { CampaignDraft } from './definition.ts';
export { CAMPAIGN_DUE_CHANNEL, campaignsDueWithin } from './due.ts';
export { CAMPAIGN_INVARIANTS } from './invariants.ts';
export { type CampaignDetail, type CampaignPage, type CampaignView, listCampaigns, showCampaign } from './look.ts';
export type { Month } from './month.ts';
export { CAMPAIGN_OUTCOMES, type CampaignOutcome, type CampaignStanding, campaignOutcome } from './outcome.ts';
export { type CampaignPreview, COUNT_TOLERANCE_PERCENT, confirmPreview, previewCampaign } from './preview.ts';
export { reapCampaigns, recoverEarlierBoots } from './reap.ts';
export { type CampaignReport, getCampaignReport } from './report.ts';
export { type ByEnd, type CampaignResult, getCampaignResult, type RequestCount } from './result.ts';
export { sendCampaignNow } from './send-now.ts';
export {
  type CampaignStart,
  getCampaignAndValidate,
  isToFreeze,
  type StartOptions,
  startCampaign,
} from './start.ts';
export { TRANSITIONS } from './state.ts';
export { currentTick, type TickKey } from './tick.ts';
