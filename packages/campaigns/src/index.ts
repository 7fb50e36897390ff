export { type CampaignSchedule, type Confirmed, createCampaign, scheduleCampaign } from './author.ts';
export type { Campaign, CampaignChunk } from './campaign.ts';
export { cancelCampaign, type StopDeliveries } from './cancel.ts';
export { getStartHold, type StartCheck, type StartHold } from './check-start.ts';
export { type ClaimedCampaign, claimCampaigns, failLateCampaigns, releaseCampaign } from './claim.ts';
export { type ClosedCampaign, type CloseOptions, closeCampaigns, heartbeatCampaign } from './close.ts';
export { CAMPAIGN_REFUSALS, type CampaignRefusal, type ControlOutcome } from './control.ts';
export { copyCampaign, deleteCampaign } from './copy.ts';
export type { CampaignDraft } from './definition.ts';
export { CAMPAIGN_DUE_CHANNEL, campaignsDueWithin } from './due.ts';
export {
  type CampaignEdit,
  type CampaignReschedule,
  confirmCampaign,
  editCampaign,
  rescheduleCampaign,
  unscheduleCampaign,
} from './edit.ts';
export { writeEvidence } from './evidence.ts';
export type { EvidencePeople, EvidenceTotals } from './evidence-lines.ts';
export { CAMPAIGN_INVARIANTS } from './invariants.ts';
export { type ErrorLimits, type FailingCampaign, pauseFailingCampaign } from './judge.ts';
export { type CampaignLiveness, campaignLiveness } from './liveness.ts';
export { type LocallyScheduled, type LocalStart, startAtLocalTime } from './local-start.ts';
export { type CampaignDetail, type CampaignPage, type CampaignView, listCampaigns, showCampaign } from './look.ts';
export { getMonth, type Month } from './month.ts';
export { getCampaignPace, type PaceOutcome, type RepaceDeliveries, setCampaignPace } from './pace.ts';
export { pauseCampaign, resumeCampaign } from './pause.ts';
export { type CampaignPreview, COUNT_TOLERANCE_PERCENT, confirmPreview, previewCampaign } from './preview.ts';
export { reapCampaigns, recoverEarlierBoots } from './reap.ts';
export { type CampaignReport, getCampaignReport } from './report.ts';
export { type ByEnd, type CampaignResult, getCampaignResult, type RequestCount } from './result.ts';
export { type Retry, type RetryDeliveries, resolveCampaign, retryCampaign } from './retry.ts';
export { sendCampaignNow } from './send-now.ts';
export { CAMPAIGN_STANDINGS, type CampaignFacts, type CampaignStanding, campaignStanding } from './standing.ts';
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
