import {
  type Condition,
  conditionOf,
  type Evaluation,
  evaluateConditions,
  type Facts,
  type Requirements,
  requirements,
} from '@dueline/conditions';
import { attributeName, scalar } from '@dueline/contracts';
import { z } from 'zod';
import type { TriggerRule } from './rule.ts';

/**
 * What a row that waits keeps of its source, to be looked at again when it is due: the source as the rule says it, and the fields of the
 * event that its conditions ask about, because the event is gone by then and never changes.
 */
export function sourceToRecheck(sourceConfig: TriggerRule['sourceConfig'], { event }: Pick<Facts, 'event'>): object {
  return event.size === 0 ? sourceConfig : { ...sourceConfig, event: Object.fromEntries(event) };
}

/** A source that is looked at again. */
export interface Recheck {
  /** Undefined: it names neither a value nor conditions, and still holds. */
  readonly condition: Condition | undefined;
  readonly needs: Requirements;
  readonly event: Facts['event'];
}

const schema = z.looseObject({
  attribute: attributeName.optional(),
  to: scalar.nullable().optional(),
  conditions: conditionOf().optional(),
  event: z.record(z.string(), z.unknown()).optional(),
});
const MAX_KNOWN = 1_000;
const known = new Map<string, Recheck | undefined>();
/** By the very object too, so that what is met again is not written out to be recognized. */
const met = new WeakMap<object, { readonly recheck: Recheck | undefined }>();

/** Reads what {@link sourceToRecheck} made, or another service wrote in its place. Undefined: it cannot be read. Pure. */
export function readRecheck(sourceConfig: unknown): Recheck | undefined {
  if (typeof sourceConfig !== 'object' || sourceConfig === null) return readText(sourceConfig);
  const before = met.get(sourceConfig) ?? { recheck: readText(sourceConfig) };
  met.set(sourceConfig, before);
  return before.recheck;
}

function readText(sourceConfig: unknown): Recheck | undefined {
  const text = JSON.stringify(sourceConfig) ?? '';
  if (known.has(text)) return known.get(text);
  if (known.size >= MAX_KNOWN) known.clear();
  const parsed = schema.safeParse(sourceConfig);
  const recheck = parsed.success ? recheckOf(parsed.data) : undefined;
  known.set(text, recheck);
  return recheck;
}

function recheckOf({ attribute, to, conditions, event = {} }: z.infer<typeof schema>): Recheck {
  const all = [
    ...(attribute === undefined || to === undefined ? [] : [stillThere(attribute, to)]),
    ...(conditions === undefined ? [] : [conditions.when]),
  ];
  return {
    condition: all.length === 0 ? undefined : { all },
    needs: requirements(...all),
    event: new Map(Object.entries(event)),
  };
}

const stillThere = (attribute: string, to: string | number | boolean | null): Condition =>
  to === null ? { attribute, op: 'absent' } : { attribute, op: 'eq', value: to };

/**
 * Whether what made the rule wait still holds when its action comes due: the attribute still has the value that `to` named, and the
 * conditions hold for the person as they are now. A source without either still holds; one that cannot be read does not. Pure.
 */
export function conditionsStillHold(recheck: Recheck | undefined, facts: Omit<Facts, 'event'>): Evaluation {
  if (recheck === undefined) return { holds: false, leaves: [] };
  const { condition, event } = recheck;
  return condition === undefined ? { holds: true, leaves: [] } : evaluateConditions(condition, { ...facts, event });
}
