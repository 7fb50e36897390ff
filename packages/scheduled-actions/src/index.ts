export { type Claim, type ClaimProfile, claimBatch, releaseActions } from './claim.ts';
export { type Recovered, recoverActionsInHand, suspectActions } from './crashes.ts';
export { type CancelReason, type Circumstances, cancelReason, decideAction } from './decide.ts';
export { dueWithin } from './due.ts';
export { type ActionOutcome, failedDecision, finishActions, type Until } from './finish.ts';
export { type HeldAction, holdActions } from './hold.ts';
export { SCHEDULED_ACTION_INVARIANTS } from './invariants.ts';
export { recoverEarlierBoots, recoverStaleProcessing } from './reap.ts';
export { type ActionToSchedule, scheduleMany } from './schedule.ts';
export {
  batchSize,
  MAX_RESCUES,
  maxRetries,
  SCHEDULED_ACTION_STATUSES,
  type ScheduledActionStatus,
  staleProcessingMinute,
  TRANSITIONS,
} from './state.ts';
export { cancelOfDeletedRules, type SweptAction } from './sweep.ts';
export { checkAndCompleteDelayWait, type Fact, type WaitMet } from './wait.ts';
