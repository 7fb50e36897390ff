import { MAX_LIST_LENGTH, MAX_TEXT_LENGTH } from './language.ts';
import { valueAt } from './pointer.ts';

/**
 * The fields of an event that a condition asks about, by their JSON pointers. What is longer than a condition looks at is cut to one more
 * than that, so that it is still too long, and may be kept for a later look: the event never changes.
 */
export function eventFieldsOf(document: unknown, pointers: Iterable<string>): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const pointer of pointers) {
    const value = valueAt(document, pointer);
    if (value !== undefined) fields.set(pointer, cut(value));
  }
  return fields;
}

function cut(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT_LENGTH + 1);
  if (Array.isArray(value)) return value.slice(0, MAX_LIST_LENGTH + 1).map((item) => (isScalar(item) ? item : null));
  return isScalar(value) || value === null ? value : {}; // of an object it only matters that it is there
}

/** What JSON can say again: a number that was too large for JavaScript is none. */
const isScalar = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
