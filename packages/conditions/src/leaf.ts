import { attributeName, bigintId, isStorable, NOT_STORABLE } from '@dueline/contracts';
import { z } from 'zod';
import { whenOf } from './date.ts';
import { type Leaf, MAX_LIST_LENGTH, MAX_TEXT_LENGTH, type Operator, type Span } from './language.ts';
import { patternProblem } from './pattern.ts';
import { pointerParts } from './pointer.ts';

const text = z.string().max(MAX_TEXT_LENGTH).refine(isStorable, NOT_STORABLE);
const some = text.min(1);
const scalar = z.union([text, z.number(), z.boolean()], { error: 'a text, a number, true or false' });
const ignoreCase = z.boolean().optional();
const zone = z.enum(['user', 'account']).optional();

const pattern = z.string().superRefine((source, context) => {
  const message = patternProblem(source);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

/** A hundred years and more of each unit, so that no step leaves what calendars can tell. */
const MOST = { minutes: 60_000_000, hours: 1_000_000, days: 40_000, weeks: 6_000, months: 1_500, years: 120 } as const;
const span: z.ZodType<Span> = z
  .strictObject({
    minutes: z.number().int().min(0).max(MOST.minutes).optional(),
    hours: z.number().int().min(0).max(MOST.hours).optional(),
    days: z.number().int().min(0).max(MOST.days).optional(),
    weeks: z.number().int().min(0).max(MOST.weeks).optional(),
    months: z.number().int().min(0).max(MOST.months).optional(),
    years: z.number().int().min(0).max(MOST.years).optional(),
  })
  .refine((units) => Object.keys(units).length === 1, 'one of minutes, hours, days, weeks, months or years');

const NO_DATE = 'a date is YYYY-MM-DD, or YYYY-MM-DDTHH:MM with or without an offset, or {"ago": …}, or {"ahead": …}';
const moment = z.union(
  [
    z.string().refine((value) => whenOf(value, 'UTC') !== undefined),
    z.strictObject({ ago: span }),
    z.strictObject({ ahead: span }),
  ],
  { error: NO_DATE },
);

/** What each operator on a value wants beside its name. */
const BESIDE = {
  eq: { value: scalar, ignoreCase },
  ne: { value: scalar, ignoreCase },
  lt: { value: z.union([text, z.number()], { error: 'a text or a number' }) },
  lte: { value: z.union([text, z.number()], { error: 'a text or a number' }) },
  gt: { value: z.union([text, z.number()], { error: 'a text or a number' }) },
  gte: { value: z.union([text, z.number()], { error: 'a text or a number' }) },
  contains: { value: some, ignoreCase },
  starts: { value: some, ignoreCase },
  ends: { value: some, ignoreCase },
  matches: { value: pattern },
  has_any: { value: z.array(scalar).min(1).max(MAX_LIST_LENGTH), ignoreCase },
  has_all: { value: z.array(scalar).min(1).max(MAX_LIST_LENGTH), ignoreCase },
  has_none: { value: z.array(scalar).min(1).max(MAX_LIST_LENGTH), ignoreCase },
  is_empty: {},
  exists: {},
  absent: {},
  before: { value: moment, zone },
  after: { value: moment, zone },
  on: { value: moment, zone },
  in_last: { value: span, zone },
  in_next: { value: span, zone },
  anniversary: { zone },
} as const satisfies Record<Exclude<Operator, 'member' | 'not_member'>, z.ZodRawShape>;

const OPERATORS: readonly string[] = [...Object.keys(BESIDE), 'member', 'not_member'];
const pointer = text.refine(
  (value) => value !== '' && pointerParts(value) !== undefined,
  'a JSON pointer, as /answers/size',
);

/** By what it asks about and its operator, made when first needed. */
const schemas = new Map<string, z.ZodType>();

function schemaOf(about: 'attribute' | 'event' | 'audience', op: string): z.ZodType {
  const key = `${about} ${op}`;
  const before = schemas.get(key);
  if (before !== undefined) return before;
  const schema =
    about === 'audience'
      ? z.strictObject({ audience: bigintId, op: z.enum(['member', 'not_member']) })
      : z.strictObject({
          [about]: about === 'attribute' ? attributeName : pointer,
          op: z.enum(Object.keys(BESIDE) as [string, ...string[]]),
          ...(Object.hasOwn(BESIDE, op) ? BESIDE[op as keyof typeof BESIDE] : {}),
        });
  schemas.set(key, schema);
  return schema;
}

/** A place in a document and what is wrong there. */
export interface Problem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export type ReadLeaf = { readonly leaf: Leaf } | { readonly problem: Problem };

const wrong = (path: Problem['path'], message: string) => ({ problem: { path, message } });

/** Reads an object that is none of and / or / not. */
export function readLeaf(json: object): ReadLeaf {
  const about = (['attribute', 'event', 'audience'] as const).find((name) => Object.hasOwn(json, name));
  if (about === undefined) return wrong([], 'a condition has one of all, any, not, attribute, event or audience');
  const { op } = json as { op?: unknown };
  if (typeof op !== 'string' || !OPERATORS.includes(op))
    return wrong(['op'], `an operator is one of ${OPERATORS.join(', ')}`);
  const parsed = schemaOf(about, op).safeParse(json);
  if (parsed.success) return { leaf: parsed.data as Leaf };
  const [issue] = parsed.error.issues;
  const at = issue?.path.map((part) => (typeof part === 'symbol' ? part.toString() : part)) ?? [];
  return wrong(at, issue?.message ?? 'invalid');
}
