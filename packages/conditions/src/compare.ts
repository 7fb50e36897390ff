import type { Why } from './explain.ts';
import {
  type EmptyLeaf,
  type ListLeaf,
  MAX_LIST_LENGTH,
  MAX_TEXT_LENGTH,
  type OrderLeaf,
  type PartLeaf,
  type PatternLeaf,
  type SameLeaf,
  type Scalar,
} from './language.ts';
import { isFound } from './pattern.ts';
import { comparable, isSameValue } from './text.ts';

/** An answer: true or false, or why nothing was compared. */
export type Answer = boolean | Why;

/** Text with text, number with number, boolean with boolean. */
export function compareScalar(leaf: SameLeaf | OrderLeaf, actual: unknown): Answer {
  if (typeof actual !== typeof leaf.value) return 'wrong_type';
  if (typeof actual === 'string' && actual.length > MAX_TEXT_LENGTH) return 'too_long';
  switch (leaf.op) {
    case 'eq':
    case 'ne':
      return isSameValue(actual, leaf.value, leaf.ignoreCase) === (leaf.op === 'eq');
    case 'lt':
    case 'lte':
    case 'gt':
    case 'gte':
      return isOrdered(leaf.op, order(actual as string | number, leaf.value)); // of the same type as what is asked
  }
}

/** Numbers by size; texts by the UTF-16 units of what is comparable of them. */
function order(left: string | number, right: string | number): number {
  const [one, other] =
    typeof left === 'string' && typeof right === 'string' ? [comparable(left), comparable(right)] : [left, right];
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function isOrdered(op: 'lt' | 'lte' | 'gt' | 'gte', found: number): boolean {
  switch (op) {
    case 'lt':
      return found < 0;
    case 'lte':
      return found <= 0;
    case 'gt':
      return found > 0;
    case 'gte':
      return found >= 0;
  }
}

export function compareText(leaf: PartLeaf | PatternLeaf, actual: unknown): Answer {
  if (typeof actual !== 'string') return 'wrong_type';
  if (actual.length > MAX_TEXT_LENGTH) return 'too_long';
  if (leaf.op === 'matches') return isFound(leaf.value, comparable(actual));
  const [whole, part] = [comparable(actual, leaf.ignoreCase), comparable(leaf.value, leaf.ignoreCase)];
  switch (leaf.op) {
    case 'contains':
      return whole.includes(part);
    case 'starts':
      return whole.startsWith(part);
    case 'ends':
      return whole.endsWith(part);
  }
}

export function compareList(leaf: ListLeaf | EmptyLeaf, actual: unknown): Answer {
  if (!Array.isArray(actual)) return 'wrong_type';
  if (leaf.op === 'is_empty') return actual.length === 0;
  if (actual.length > MAX_LIST_LENGTH) return 'too_long';
  const has = new Set(actual.flatMap((item) => keyOf(item, leaf.ignoreCase)));
  const isThere = (wanted: Scalar) => keyOf(wanted, leaf.ignoreCase).every((key) => has.has(key));
  switch (leaf.op) {
    case 'has_any':
      return leaf.value.some(isThere);
    case 'has_all':
      return leaf.value.every(isThere);
    case 'has_none':
      return !leaf.value.some(isThere);
  }
}

/** The same for what is the same; none for what no value of a condition can be. */
function keyOf(item: unknown, ignoreCase: boolean | undefined): string[] {
  if (typeof item === 'string') return item.length > MAX_TEXT_LENGTH ? [] : [`"${comparable(item, ignoreCase)}`];
  return typeof item === 'number' || typeof item === 'boolean' ? [String(item)] : [];
}
