import { z } from 'zod';
import { isStorable, NOT_STORABLE } from './storable.ts';

/** Longest attribute name in characters. */
export const MAX_ATTRIBUTE_NAME_LENGTH = 128;

export const attributeName = z.string().min(1).max(MAX_ATTRIBUTE_NAME_LENGTH).refine(isStorable, NOT_STORABLE);

/** A value that a condition compares with: text, number or boolean. */
export const scalar = z.union([z.string().max(4_096).refine(isStorable, NOT_STORABLE), z.number(), z.boolean()]);
export type Scalar = z.infer<typeof scalar>;

const comparison = z.enum(['eq', 'ne', 'lt', 'lte', 'gt', 'gte']);
export type Comparison = z.infer<typeof comparison>;

/** One question about a user's attribute. */
export type Leaf =
  | { attribute: string; op: Comparison; value: Scalar }
  | { attribute: string; op: 'exists' | 'absent' };

/** A condition on the user: a leaf, or and / or / not over conditions. */
export type Condition = { all: Condition[] } | { any: Condition[] } | { not: Condition } | Leaf;

/** How deep conditions may nest, and how many children one node may have. */
export const MAX_CONDITION_DEPTH = 8;
export const MAX_CONDITION_CHILDREN = 50;

const leaf = z.union([
  z.strictObject({ attribute: attributeName, op: comparison, value: scalar }),
  z.strictObject({ attribute: attributeName, op: z.enum(['exists', 'absent']) }),
]);

function conditionOfDepth(depth: number): z.ZodType<Condition> {
  if (depth === 1) return leaf;
  const child = conditionOfDepth(depth - 1);
  return z.union([
    leaf,
    z.strictObject({ all: z.array(child).max(MAX_CONDITION_CHILDREN) }),
    z.strictObject({ any: z.array(child).max(MAX_CONDITION_CHILDREN) }),
    z.strictObject({ not: child }),
  ]);
}

export const condition: z.ZodType<Condition> = conditionOfDepth(MAX_CONDITION_DEPTH);

/** source_config of `attribute_changed`: which attribute, from and to which value (left out: any), and conditions on the user. */
export const attributeChangedConfig = z.strictObject({
  attribute: attributeName,
  from: scalar.optional(),
  to: scalar.optional(),
  conditions: condition.optional(),
});
export type AttributeChangedConfig = z.infer<typeof attributeChangedConfig>;

/** The sources a rule can name so far. */
export const SOURCE_TYPES = ['attribute_changed'] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

/** How often a rule may fire for one user; calendar windows are those of the account's zone. */
export const FREQUENCIES = ['every_time', 'once', 'once_per_hour', 'once_per_day', 'once_per_week'] as const;
export type Frequency = (typeof FREQUENCIES)[number];

/** Whether a person enters a rule anew: also while something of it waits for them, only when nothing does, or never again. */
export const REENTRIES = ['always', 'not_while_open', 'never'] as const;
export type Reentry = (typeof REENTRIES)[number];

/** A draft is not looked at; a rule that observes is judged and written down, and does nothing. */
export const RULE_MODES = ['draft', 'observe', 'live'] as const;
export type RuleMode = (typeof RULE_MODES)[number];
