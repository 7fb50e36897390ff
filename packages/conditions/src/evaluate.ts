import { type Answer, compareList, compareScalar, compareText } from './compare.ts';
import { compareDate } from './compare-date.ts';
import { type LeafResult, shown } from './explain.ts';
import type { Facts } from './facts.ts';
import type { Condition, Leaf, ValueLeaf } from './language.ts';

/** Whether a condition holds, and what each of its questions found. */
export interface Evaluation {
  readonly holds: boolean;
  readonly leaves: readonly LeafResult[];
}

/**
 * Whether a condition holds for these facts, and what each leaf found. Pure: the same for the same condition and facts. It evaluates every
 * leaf, so that the explanation is whole, and takes time linear in condition and facts. Never throws for a condition that was read.
 *
 * Values are compared by type, and nothing is converted. What is absent (JSON null, too), of another type, too long, or no date satisfies
 * no operator but `absent`, `ne` and `has_none` included; `not` turns that round. An empty `all` or `any` matches nothing, so that a rule
 * whose conditions were emptied cannot reach everybody.
 */
export function evaluateConditions(condition: Condition, facts: Facts): Evaluation {
  const leaves: LeafResult[] = [];
  return { holds: evaluate(condition, facts, { path: '', leaves }), leaves };
}

interface Found {
  readonly path: string;
  readonly leaves: LeafResult[];
}

function evaluate(condition: Condition, facts: Facts, { path, leaves }: Found): boolean {
  if ('not' in condition) return !evaluate(condition.not, facts, { path: `${path}/not`, leaves });
  if ('all' in condition) {
    const found = condition.all.map((child, at) => evaluate(child, facts, { path: `${path}/all/${at}`, leaves }));
    return found.length > 0 && found.every(Boolean);
  }
  if ('any' in condition)
    return condition.any
      .map((child, at) => evaluate(child, facts, { path: `${path}/any/${at}`, leaves }))
      .some(Boolean);
  const result = ask(condition, facts, path);
  leaves.push(result);
  return result.holds;
}

function ask(leaf: Leaf, facts: Facts, path: string): LeafResult {
  if ('audience' in leaf) {
    const actual = facts.audiences.get(leaf.audience);
    const answer: Answer = actual === undefined ? 'no_such_audience' : actual === (leaf.op === 'member');
    return { path, audience: leaf.audience, op: leaf.op, ...told(answer, actual) };
  }
  const actual = 'attribute' in leaf ? facts.attributes.get(leaf.attribute) : facts.event.get(leaf.event);
  const about = 'attribute' in leaf ? { attribute: leaf.attribute } : { event: leaf.event };
  const expected = 'value' in leaf ? { expected: asked(leaf.value) } : {};
  return { path, ...about, op: leaf.op, ...expected, ...told(answerTo(leaf, actual, facts), actual) };
}

/** Lengths of time and moments are small and ours. */
const asked = (value: unknown): unknown => (typeof value === 'object' && !Array.isArray(value) ? value : shown(value));

function told(answer: Answer, actual: unknown) {
  const holds = answer === true;
  const found = actual === undefined ? {} : { actual: shown(actual) };
  return typeof answer === 'string' ? { ...found, holds, why: answer } : { ...found, holds };
}

function answerTo(leaf: ValueLeaf, actual: unknown, { clock }: Facts): Answer {
  if (actual === undefined || actual === null) {
    if (leaf.op === 'exists') return false;
    return leaf.op === 'absent' ? true : 'absent';
  }
  switch (leaf.op) {
    case 'exists':
      return true;
    case 'absent':
      return false;
    case 'eq':
    case 'ne':
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return compareScalar(leaf, actual);
    case 'contains':
    case 'starts':
    case 'ends':
    case 'matches':
      return compareText(leaf, actual);
    case 'has_any':
    case 'has_all':
    case 'has_none':
    case 'is_empty':
      return compareList(leaf, actual);
    case 'before':
    case 'after':
    case 'on':
    case 'in_last':
    case 'in_next':
    case 'anniversary':
      return compareDate(leaf, actual, clock);
  }
}
