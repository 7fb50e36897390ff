import type { AttributeChange, AttributeChangedConfig, Condition } from '@dueline/contracts';
import { type Evaluation, evaluateConditions } from './conditions.ts';

/** Why a rule did or did not match an event. */
export type Match =
  | { readonly matches: true }
  | { readonly matches: false; readonly reason: 'value_not_matched' }
  | { readonly matches: false; readonly reason: 'conditions_not_met'; readonly leaves: Evaluation['leaves'] };

/**
 * Whether an attribute change sets the rule off: the side that `from` or `to` names has that very value (absent and null
 * have none), and the conditions hold for the user as they are now. Pure.
 */
export function matchAttributeChange(
  { from, to, conditions }: AttributeChangedConfig,
  change: AttributeChange,
  attributes: ReadonlyMap<string, unknown>,
): Match {
  if (from !== undefined && change.from !== from) return { matches: false, reason: 'value_not_matched' };
  if (to !== undefined && change.to !== to) return { matches: false, reason: 'value_not_matched' };
  if (conditions === undefined) return { matches: true };
  const { holds, leaves } = evaluateConditions(conditions, attributes);
  return holds ? { matches: true } : { matches: false, reason: 'conditions_not_met', leaves };
}

/**
 * Whether what made the rule wait still holds when its action comes due: the attribute still has the value that `to` named,
 * and the conditions hold for the user as they are now. A source without either still holds. Pure.
 */
export function conditionsStillHold(
  { attribute, to, conditions }: AttributeChangedConfig,
  attributes: ReadonlyMap<string, unknown>,
): Evaluation {
  const stillThere: Condition[] = to === undefined ? [] : [{ attribute, op: 'eq', value: to }];
  const all = conditions === undefined ? stillThere : [...stillThere, conditions];
  return all.length === 0 ? { holds: true, leaves: [] } : evaluateConditions({ all }, attributes);
}
