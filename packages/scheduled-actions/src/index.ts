export type { StoredAction } from './action-row.ts';
export { anchorRef, type MovedAnchor, type Recomputed, recomputeAnchored } from './anchor.ts';
export { whereAwaited } from './awaited.ts';
export { type Claim, type ClaimedTicket, type ClaimProfile, claimBatch, claimHeld } from './claim.ts';
export { type Recovered, recoverActionsInHand, stillOpen, suspectActions } from './crashes.ts';
export { cycleInstant } from './cycle-instant.ts';
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
export { createDueAccounts, type DueAccounts } from './due-accounts.ts';
export {
  type ActionOutcome,
  type AlongsideFinish,
  type Finished,
  failedDecision,
  finishActions,
  finishActionsWith,
  finishDue,
  finishDueWith,
  type Until,
} from './finish.ts';
export { skipHeldUp, spreadHeldUp } from './held-up.ts';
export { type HeldAction, holdActions, holdDue } from './hold.ts';
export { insertFailed } from './insert-failed.ts';
export { SCHEDULED_ACTION_INVARIANTS } from './invariants.ts';
export { lookForFacts } from './last-look.ts';
export { oldestDueSeconds } from './lateness.ts';
export { type Entry, findOpen } from './open.ts';
export { countOpenActions, type OpenActionCounts } from './open-counts.ts';
export type {
  Author,
  CancelDeliveries,
  OnRunAnew,
  OperationOutcome,
  StoppedDelivery,
} from './operate/apply.ts';
export { type Confirmation, confirmOperation, type OperationReport } from './operate/confirm.ts';
export type { ActionFilter } from './operate/filter.ts';
export { type ActionDetail, type ActionPage, listActions, MAX_PAGE, showAction } from './operate/inspect.ts';
export { operate } from './operate/operate.ts';
export type { ActionOperation } from './operate/operation.ts';
export { type OperationPreview, type PreviewSample, previewOperation } from './operate/preview.ts';
export { REFUSALS, type Refusal } from './operate/refusal.ts';
export type { ActionView } from './operate/view.ts';
export { recoverEarlierBoots, recoverStaleProcessing } from './reap.ts';
export { releaseActions, releaseUntaken } from './release.ts';
export { type ActionToSchedule, type Scheduled, scheduleAction, scheduleMany } from './schedule.ts';
export {
  batchSize,
  MAX_RESCUES,
  maxRetries,
  SCHEDULED_ACTION_STATUSES,
  type ScheduledActionStatus,
  staleProcessingMinute,
  TRANSITIONS,
  waitGraceSeconds,
} from './state.ts';
export { cancelOfCycle, cancelOfDeletedRules } from './sweep.ts';
export { haveDates, type ToDate } from './timing.ts';
export { checkAndCompleteDelayWait, type Fact, lockToldActions, type WaitMet } from './wait.ts';
export { DUE_CHANNEL, wakeDue } from './wake.ts';
