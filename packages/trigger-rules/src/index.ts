export { createRule, deleteRule, type RuleDraft, setRuleEnabled } from './author.ts';
export { type AccountClock, loadClocks } from './clocks.ts';
export { type Firing, passGate } from './gate.ts';
export { TRIGGER_RULE_INVARIANTS } from './invariants.ts';
export { getRuleStates, liveRules, type RuleState } from './live-rules.ts';
export {
  type CancelledWork,
  type Decision,
  type LogEntry,
  REASON_CODES,
  type ReasonCode,
  recordCancelled,
  recordDecisions,
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
export { conditionsStillHold, type Recheck, readRecheck, sourceToRecheck } from './recheck.ts';
export type { ReadRule, TriggerRule } from './rule.ts';
