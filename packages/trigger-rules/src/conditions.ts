import type { Comparison, Condition, Leaf, Scalar } from '@dueline/contracts';

/** What one leaf found; the history shows it, so that "did not fire" has a reason. */
export interface LeafResult {
  readonly attribute: string;
  readonly op: Leaf['op'];
  readonly holds: boolean;
}

export interface Evaluation {
  readonly holds: boolean;
  readonly leaves: readonly LeafResult[];
}

const sameType = (left: unknown, right: Scalar): left is Scalar => typeof left === typeof right;

const COMPARE: Record<Comparison, (left: Scalar, right: Scalar) => boolean> = {
  eq: (left, right) => left === right,
  ne: (left, right) => left !== right,
  lt: (left, right) => typeof left !== 'boolean' && left < right,
  lte: (left, right) => typeof left !== 'boolean' && left <= right,
  gt: (left, right) => typeof left !== 'boolean' && left > right,
  gte: (left, right) => typeof left !== 'boolean' && left >= right,
};

function leafHolds(leaf: Leaf, attributes: ReadonlyMap<string, unknown>): boolean {
  const value = attributes.get(leaf.attribute) ?? undefined; // JSON null counts as absent
  if (!('value' in leaf)) return (value !== undefined) === (leaf.op === 'exists');
  return sameType(value, leaf.value) && COMPARE[leaf.op](value, leaf.value);
}

/**
 * Whether a condition holds for these attributes, and what each leaf found. Pure; evaluates every leaf, so that the
 * explanation is whole.
 *
 * Values are compared by type: text with text (by UTF-16 units), number with number, boolean with boolean (eq and ne only).
 * An absent value, JSON null, a list, an object or another type satisfies no comparison, `ne` included; `not` turns that
 * round. An empty `all` or `any` matches nothing, so that a rule whose conditions were emptied cannot reach everybody.
 */
export function evaluateConditions(condition: Condition, attributes: ReadonlyMap<string, unknown>): Evaluation {
  if ('not' in condition) {
    const inner = evaluateConditions(condition.not, attributes);
    return { holds: !inner.holds, leaves: inner.leaves };
  }
  if ('all' in condition || 'any' in condition) {
    const children = ('all' in condition ? condition.all : condition.any).map((child) =>
      evaluateConditions(child, attributes),
    );
    const holds = 'all' in condition ? children.every((child) => child.holds) : children.some((child) => child.holds);
    return { holds: children.length > 0 && holds, leaves: children.flatMap((child) => child.leaves) };
  }
  const holds = leafHolds(condition, attributes);
  return { holds, leaves: [{ attribute: condition.attribute, op: condition.op, holds }] };
}
