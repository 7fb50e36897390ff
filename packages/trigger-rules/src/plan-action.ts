import type { ActionRequest, Delay } from '@dueline/contracts';
import type { TriggerRule } from './rule.ts';

/** What a rule that fires leads to. Instants are for the database: only the delay is said. */
export type ActionPlan =
  | { readonly kind: 'now'; readonly request: ActionRequest }
  | {
      readonly kind: 'later';
      readonly request: ActionRequest;
      readonly delay: Delay;
      /** The source to re-evaluate when the action comes due; null when the rule did not ask for it. */
      readonly sourceConfig: TriggerRule['sourceConfig'] | null;
    };

/** The action of a rule: at once, or later when `actionConfig.delay` says so. Pure. */
export function planAction({ actionType, actionConfig, sourceConfig }: TriggerRule): ActionPlan {
  const { delay, ...immediate } = actionConfig;
  const request = { actionType, actionConfig: immediate } as ActionRequest; // of the same type, less its delay
  if (delay === undefined) return { kind: 'now', request };
  return {
    kind: 'later',
    request,
    delay,
    sourceConfig: delay.reEvaluateConditions ? sourceConfig : null,
  };
}
