export { type Applied, applyRules, type FieldChange, type RuleChange, type RuleSource } from './apply.ts';
export {
  type CheckSource,
  createRule,
  deleteRule,
  type RuleDocument,
  type RuleDraft,
  readRule,
  setRuleEnabled,
  setRuleMode,
} from './author.ts';
export { type FrequencyCap, listFrequencyCaps, setFrequencyCap } from './caps.ts';
export { type AccountClock, loadClocks } from './clocks.ts';
export { type CountedEntry, countUnmatched } from './count-unmatched.ts';
export {
  cancelEnrolment,
  claimEnrolmentPage,
  confirmEnrolment,
  type Enrolment,
  type EnrolmentPage,
  type EnrolmentStatus,
  endEnrolment,
  finishEnrolmentPage,
  giveBackEnrolmentPage,
  holdEnrolmentPage,
  listEnrolments,
  type PageOutcome,
  startEnrolment,
} from './enrol.ts';
export {
  type Candidate,
  type Cause,
  type Evaluated,
  entryOf,
  evaluateEvent,
  isPerformedHere,
  type Known,
  MAX_DEPTH,
  needsFriend,
  type Person,
  ruleFields,
} from './evaluate-event.ts';
export { type Firing, passGate } from './gate.ts';
export { listRules, type RuleDetail, type RuleSummary, showRule } from './inspect.ts';
export { TRIGGER_RULE_INVARIANTS } from './invariants.ts';
export { type Attempt, applyLimits, type Limit } from './limits.ts';
export { getLiveRule, getRuleStates, type Listening, liveRules, type RuleState } from './live-rules.ts';
export {
  type CancelledWork,
  type Decision,
  type DecisionOnAction,
  type LogEntry,
  REASON_CODES,
  type ReasonCode,
  recordCancelled,
  recordDecisions,
  recordFinished,
  recordScheduled,
} from './log.ts';
export {
  fieldsFor,
  listensTo,
  type Match,
  type MoreOfEvent,
  matchEvent,
  requirementsOf,
  sourceKeysOf,
} from './match.ts';
export { type ActionPlan, planAction } from './plan-action.ts';
export { inQuietHours } from './quiet-hours.ts';
export { conditionsStillHold, type Recheck, readRecheck, sourceToRecheck } from './recheck.ts';
export { campaignReaches, countedAt, holdRoom, LATE_PART, type Room, roomAt } from './room.ts';
export { type CausedDecision, MAX_DECISIONS_PER_ROOT, spendRootBudget } from './root-budget.ts';
export { parseRule, type ReadRule, type RuleRow, type TriggerRule } from './rule.ts';
export { type FoundScheduledRule, findScheduledRule, type ScheduledRule } from './scheduled-rule.ts';
