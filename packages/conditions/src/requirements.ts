import type { Condition, Leaf } from './language.ts';

/** What must be known to judge a condition. */
export interface Requirements {
  readonly attributes: ReadonlySet<string>;
  readonly audiences: ReadonlySet<string>;
  /** JSON pointers into the event. */
  readonly eventFields: ReadonlySet<string>;
  /** Whether it asks about dates, and so needs to know now and the zones. */
  readonly clock: boolean;
}

const DATE_OPERATORS: ReadonlySet<string> = new Set<Leaf['op']>([
  'before',
  'after',
  'on',
  'in_last',
  'in_next',
  'anniversary',
]);

/** What these conditions need, together. Pure. */
export function requirements(...conditions: readonly Condition[]): Requirements {
  const leaves = conditions.flatMap(leavesOf);
  return {
    attributes: new Set(leaves.flatMap((leaf) => ('attribute' in leaf ? leaf.attribute : []))),
    audiences: new Set(leaves.flatMap((leaf) => ('audience' in leaf ? leaf.audience : []))),
    eventFields: new Set(leaves.flatMap((leaf) => ('event' in leaf ? leaf.event : []))),
    clock: leaves.some(({ op }) => DATE_OPERATORS.has(op)),
  };
}

function leavesOf(condition: Condition): readonly Leaf[] {
  if ('not' in condition) return leavesOf(condition.not);
  if ('all' in condition) return condition.all.flatMap(leavesOf);
  return 'any' in condition ? condition.any.flatMap(leavesOf) : [condition];
}
