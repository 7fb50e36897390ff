export { type CampaignDraft, type CampaignSchedule, createCampaign, scheduleCampaign } from './author.ts';
export type { Campaign, CampaignChunk } from './campaign.ts';
export { cancelCampaign, type StopDeliveries } from './cancel.ts';
export { type ClaimedCampaign, claimCampaigns, failLateCampaigns, releaseCampaign } from './claim.ts';
export { type ClosedCampaign, type CloseOptions, closeCampaigns, heartbeatCampaign } from './close.ts';
export { CAMPAIGN_REFUSALS, type CampaignOutcome, type CampaignRefusal } from './control.ts';
export { copyCampaign, deleteCampaign } from './copy.ts';
export {
  type CampaignEdit,
  type CampaignReschedule,
  confirmCampaign,
  editCampaign,
  rescheduleCampaign,
  unscheduleCampaign,
} from './edit.ts';
export { CAMPAIGN_INVARIANTS } from './invariants.ts';
export { type CampaignDetail, type CampaignPage, type CampaignView, listCampaigns, showCampaign } from './look.ts';
export { pauseCampaign, resumeCampaign } from './pause.ts';
export { reapCampaigns, recoverEarlierBoots } from './reap.ts';
export { type CampaignResult, getCampaignResult } from './result.ts';
export { type Retry, type RetryDeliveries, resolveCampaign, retryCampaign } from './retry.ts';
export {
  type CampaignStart,
  getCampaignAndValidate,
  type StartOptions,
  startCampaign,
} from './start.ts';
export { TRANSITIONS } from './state.ts';
export { currentTick, type TickKey } from './tick.ts';
