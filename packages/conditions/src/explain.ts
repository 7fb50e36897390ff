import { storableText } from '@dueline/kernel';
import type { Operator } from './language.ts';

/** Why a question was answered with false though nothing was compared. */
export type Why = 'absent' | 'wrong_type' | 'too_long' | 'not_a_date' | 'no_such_audience';

/** What one question found; the history shows it, so that "did not fire" has a reason. */
export interface LeafResult {
  /** Where it stands in the condition, as a JSON pointer. */
  readonly path: string;
  readonly attribute?: string;
  readonly event?: string;
  readonly audience?: string;
  readonly op: Operator;
  /** What was asked for; long texts and lists are cut. */
  readonly expected?: unknown;
  /** What there was, cut in the same way; left out: nothing. */
  readonly actual?: unknown;
  readonly holds: boolean;
  readonly why?: Why;
}

const MAX_SHOWN_LENGTH = 100;
const MAX_SHOWN_ITEMS = 5;

/** A value as history shows it: bounded, and storable whatever it is. */
export function shown(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length > MAX_SHOWN_LENGTH ? `${storableText(value, MAX_SHOWN_LENGTH)}…` : storableText(value);
  if (Array.isArray(value)) {
    const items: unknown[] = value.slice(0, MAX_SHOWN_ITEMS).map(shownInList);
    return value.length > MAX_SHOWN_ITEMS ? [...items, `… ${value.length} in all`] : items;
  }
  if (typeof value === 'object' && value !== null) return '{…}';
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}

const shownInList = (item: unknown): unknown => (Array.isArray(item) ? '[…]' : shown(item));
