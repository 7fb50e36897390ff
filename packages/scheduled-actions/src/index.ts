export { type Claim, type ClaimedTicket, type ClaimProfile, claimBatch } from './claim.ts';
export { type CancelReason, type Circumstances, cancelReason, decideAction } from './decide.ts';
export { dueWithin } from './due.ts';
export { createDueAccounts, type DueAccounts } from './due-accounts.ts';
export { type ActionOutcome, failedDecision, finishActions } from './finish.ts';
export { type SkippedAction, skipHeldUp, spreadHeldUp } from './held-up.ts';
export { type HeldAction, holdActions } from './hold.ts';
export { SCHEDULED_ACTION_INVARIANTS } from './invariants.ts';
export { recoverEarlierBoots, recoverStaleProcessing } from './reap.ts';
export { releaseActions, releaseUntaken } from './release.ts';
export { type ActionToSchedule, scheduleMany } from './schedule.ts';
export {
  batchSize,
  maxRetries,
  SCHEDULED_ACTION_STATUSES,
  type ScheduledActionStatus,
  staleProcessingMinute,
  TRANSITIONS,
  waitGraceSeconds,
} from './state.ts';
export { checkAndCompleteDelayWait, type Fact, type WaitMet } from './wait.ts';
export { DUE_CHANNEL, wakeDue } from './wake.ts';
