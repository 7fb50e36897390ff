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
export { CAMPAIGN_INVARIANTS } from './invariants.ts';
export { type CampaignDetail, type CampaignPage, type CampaignView, listCampaigns, showCampaign } from './look.ts';
export { reapCampaigns, recoverEarlierBoots } from './reap.ts';
export { type CampaignReport, getCampaignReport } from './report.ts';
export { type ByEnd, type CampaignResult, getCampaignResult, type RequestCount } from './result.ts';
export { CAMPAIGN_STANDINGS, type CampaignFacts, type CampaignStanding, campaignStanding } from './standing.ts';
export {
  type CampaignStart,
  getCampaignAndValidate,
  type StartOptions,
  startCampaign,
} from './start.ts';
export { TRANSITIONS } from './state.ts';
export { currentTick, type TickKey } from './tick.ts';
