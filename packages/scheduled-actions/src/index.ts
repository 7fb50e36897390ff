export { anchorRef, type MovedAnchor, type Recomputed, recomputeAnchored } from './anchor.ts';
export { isAwaited } from './awaited.ts';
export { type Claim, type ClaimProfile, claimBatch, releaseActions } from './claim.ts';
export {
  type BranchedAction,
  type CancelReason,
  type Circumstances,
  cancelReason,
  decideBranches,
  handleExpired,
  requestOnBranch,
} from './decide.ts';
export { dueWithin } from './due.ts';
export { type ActionOutcome, failedDecision, finishActions } from './finish.ts';
export { type HeldAction, holdActions } from './hold.ts';
export { SCHEDULED_ACTION_INVARIANTS } from './invariants.ts';
export { lookForFacts } from './last-look.ts';
export { recoverEarlierBoots, recoverStaleProcessing } from './reap.ts';
export { type ActionToSchedule, type Scheduled, scheduleAction, scheduleMany } from './schedule.ts';
export {
  batchSize,
  maxRetries,
  SCHEDULED_ACTION_STATUSES,
  type ScheduledActionStatus,
  staleProcessingMinute,
  TRANSITIONS,
} from './state.ts';
export { checkAndCompleteDelayWait, type Fact, type WaitMet } from './wait.ts';
