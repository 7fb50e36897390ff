import type { ActionRequest, Delay } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import { planAction, type Recheck, readRecheck, type ScheduledRule, type TriggerRule } from '@dueline/trigger-rules';
import type { Account } from '../rule-then.ts';
import { loadTarget, type Target } from '../targets-then.ts';

/** A rule that is set off by time, with the cycles that are looked at. */
export interface TimedRule {
  readonly account: Account;
  readonly rule: ScheduledRule;
  /** When they begin, in microseconds of the epoch, the earliest first. */
  readonly cycles: readonly number[];
  readonly request: ActionRequest;
  /** Undefined: the action is due with its cycle. */
  readonly delay: Delay | undefined;
  /** What is asked when the action is decided; null: nothing. */
  readonly recheck: { readonly read: Recheck | undefined } | null;
  readonly target: Target | undefined;
}

/** Whether time sets off a rule. */
export const isTimed = (rule: TriggerRule): rule is ScheduledRule => rule.sourceType === 'scheduled_time';

/** Reads what the rule names. */
export async function loadTimedRule(
  tx: Tx,
  account: Account,
  { rule, cycles }: Pick<TimedRule, 'rule' | 'cycles'>,
): Promise<TimedRule> {
  const plan = planAction(rule);
  const { sourceConfig } = rule;
  return {
    ...{ account, rule, cycles, request: plan.request, delay: plan.kind === 'later' ? plan.delay : undefined },
    recheck: sourceConfig.conditions === undefined ? null : { read: readRecheck(sourceConfig) },
    target: await loadTarget(tx, account, rule),
  };
}
