import { z } from 'zod';
import {
  type Condition,
  MAX_CONDITION_CHILDREN,
  MAX_CONDITION_DEPTH,
  MAX_CONDITION_LEAVES,
  type StoredCondition,
} from './language.ts';
import { type Problem, readLeaf } from './leaf.ts';
import { pointerParts } from './pointer.ts';

/** A condition, or the first thing that is wrong with it and where. */
type Read = { readonly condition: Condition } | { readonly problem: Problem };

interface Reading {
  /** What the source of the rule tells of its events: the first parts of the pointers that may be asked about. */
  readonly eventFields: readonly string[] | undefined;
  leaves: number;
}

const wrong = (path: Problem['path'], message: string) => ({ problem: { path, message } });

const isObject = (json: unknown): json is object => typeof json === 'object' && json !== null && !Array.isArray(json);

/** Reads any JSON; never throws, however deep or wide it is. */
function read(json: unknown, depth: number, reading: Reading): Read {
  if (!isObject(json)) return wrong([], 'a condition is an object');
  const node = (['all', 'any', 'not'] as const).find((name) => Object.hasOwn(json, name));
  if (node === undefined) return readQuestion(json, reading);
  if (depth === MAX_CONDITION_DEPTH) return wrong([], `conditions nest at most ${MAX_CONDITION_DEPTH} deep`);
  const stranger = Object.keys(json).find((key) => key !== node);
  if (stranger !== undefined) return wrong([stranger], `is unknown beside ${node}`);
  const inner = (json as Record<string, unknown>)[node];
  if (node !== 'not') return readChildren(node, inner, { depth, reading });
  const child = read(inner, depth + 1, reading);
  return 'problem' in child ? below(['not'], child.problem) : { condition: { not: child.condition } };
}

const below = (path: Problem['path'], problem: Problem) => wrong([...path, ...problem.path], problem.message);

function readChildren(
  node: 'all' | 'any',
  inner: unknown,
  { depth, reading }: { depth: number; reading: Reading },
): Read {
  if (!Array.isArray(inner)) return wrong([node], 'a list of conditions');
  if (inner.length > MAX_CONDITION_CHILDREN) return wrong([node], `at most ${MAX_CONDITION_CHILDREN} conditions`);
  const children: Condition[] = [];
  for (const [at, json] of inner.entries()) {
    const child = read(json, depth + 1, reading);
    if ('problem' in child) return below([node, at], child.problem);
    children.push(child.condition);
  }
  return { condition: node === 'all' ? { all: children } : { any: children } };
}

function readQuestion(json: object, reading: Reading): Read {
  reading.leaves += 1;
  if (reading.leaves > MAX_CONDITION_LEAVES) return wrong([], `at most ${MAX_CONDITION_LEAVES} questions in all`);
  const found = readLeaf(json);
  if ('problem' in found) return found;
  const { leaf } = found;
  const { eventFields } = reading;
  if ('event' in leaf && eventFields !== undefined && !eventFields.includes(pointerParts(leaf.event)?.[0] ?? '')) {
    const fields = eventFields.map((name) => `/${name}`).join(', ');
    return wrong(['event'], fields === '' ? 'there is no event to ask about' : `the event has ${fields}`);
  }
  return { condition: leaf };
}

/** The frame of a stored condition, if this is one, else the condition alone. */
function unframe(
  json: unknown,
): { readonly path: Problem['path']; readonly json: unknown } | { readonly problem: Problem } {
  if (!isObject(json) || !Object.hasOwn(json, 'version')) return { path: [], json };
  const { version, when, ...rest } = json as { version?: unknown; when?: unknown };
  if (version !== 1) return wrong(['version'], 'is not a version of conditions that is known here');
  const [stranger] = Object.keys(rest);
  return stranger === undefined
    ? { path: ['when'], json: when }
    : wrong([stranger], 'is unknown beside version and when');
}

/**
 * The schema of the conditions of a source, as they are written by a person or were stored: a problem names its place. What comes out has
 * the frame in which it is stored.
 *
 * @param eventFields What the source tells of its events; `event` may ask about these and what stands below them; left out: about anything.
 */
export const conditionOf = (eventFields?: readonly string[]): z.ZodType<StoredCondition, StoredCondition | Condition> =>
  z
    .custom<StoredCondition | Condition>(() => true)
    .transform((json, context): StoredCondition => {
      const framed = unframe(json);
      const found = 'problem' in framed ? framed : readFramed(framed, eventFields);
      if ('condition' in found) return { version: 1, when: found.condition };
      context.addIssue({ code: 'custom', path: [...found.problem.path], message: found.problem.message });
      return z.NEVER;
    });

function readFramed(
  { path, json }: { path: Problem['path']; json: unknown },
  eventFields: readonly string[] | undefined,
): Read {
  const found = read(json, 1, { eventFields, leaves: 0 });
  return 'problem' in found ? below(path, found.problem) : found;
}
