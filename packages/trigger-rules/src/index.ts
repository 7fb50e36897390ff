export { createRule, deleteRule, type RuleDraft, setRuleEnabled } from './author.ts';
export { type Evaluation, evaluateConditions, type LeafResult } from './conditions.ts';
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
export { conditionsStillHold, type Match, matchAttributeChange } from './match.ts';
export { type ActionPlan, planAction } from './plan-action.ts';
export type { ReadRule, TriggerRule } from './rule.ts';
