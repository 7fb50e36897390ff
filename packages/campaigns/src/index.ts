export {
  type CampaignSchedule,
  type Confirmed,
  cancelCampaign,
  createCampaign,
  scheduleCampaign,
} from './author.ts';
export type { Campaign, CampaignChunk } from './campaign.ts';
export { getStartHold, type StartCheck, type StartHold } from './check-start.ts';
export { type ClaimedCampaign, claimCampaigns, failLateCampaigns, releaseCampaign } from './claim.ts';
export { closeCampaigns, heartbeatCampaign } from './close.ts';
export type { CampaignDraft } from './definition.ts';
export { writeEvidence } from './evidence.ts';
export type { EvidencePeople, EvidenceTotals } from './evidence-lines.ts';
export { CAMPAIGN_INVARIANTS } from './invariants.ts';
export { type CampaignDetail, type CampaignPage, type CampaignView, listCampaigns, showCampaign } from './look.ts';
export type { Month } from './month.ts';
export { type CampaignPreview, COUNT_TOLERANCE_PERCENT, confirmPreview, previewCampaign } from './preview.ts';
export { reapCampaigns, recoverEarlierBoots } from './reap.ts';
export { type CampaignResult, getCampaignResult } from './result.ts';
export {
  type CampaignStart,
  getCampaignAndValidate,
  isToFreeze,
  type StartOptions,
  startCampaign,
} from './start.ts';
export { TRANSITIONS } from './state.ts';
export { type TestOfCampaign, testOfCampaign } from './test-send.ts';
export { currentTick, type TickKey } from './tick.ts';
export { type EvidenceRequest, type EvidenceVerdict, verifyEvidence } from './verify-evidence.ts';
export { findPerson, type LeftOut, type PersonAnswer, type PersonAttempt, type PersonRequest } from './who.ts';
