/** Text, number or boolean. */
export type Scalar = string | number | boolean;

/** What a leaf asks about: an attribute of the person by its name, or a field of the event by a JSON pointer (RFC 6901). */
export type Subject = { readonly attribute: string } | { readonly event: string };

/** A length of time, in one unit. Minutes and hours are elapsed time; the others are steps of the calendar in the zone. */
export type Span = { readonly [unit in SpanUnit]?: number | undefined };
type SpanUnit = 'minutes' | 'hours' | 'days' | 'weeks' | 'months' | 'years';

/** A day (`YYYY-MM-DD`), a time of the zone's clocks, or an instant with an offset; or so long before or after now. */
export type Moment = string | { readonly ago: Span } | { readonly ahead: Span };

/** Whose calendar counts: the person's, where they have a valid zone (the default), else the account's; or always the account's. */
export type Zone = 'user' | 'account';

type Ask<Op extends string, Rest = unknown> = Subject & { readonly op: Op } & Rest;

interface CaseBlind {
  readonly ignoreCase?: boolean | undefined;
}
interface Zoned {
  readonly zone?: Zone | undefined;
}

export type SameLeaf = Ask<'eq' | 'ne', CaseBlind & { readonly value: Scalar }>;
export type OrderLeaf = Ask<'lt' | 'lte' | 'gt' | 'gte', { readonly value: string | number }>;
export type PartLeaf = Ask<'contains' | 'starts' | 'ends', CaseBlind & { readonly value: string }>;
export type PatternLeaf = Ask<'matches', { readonly value: string }>;
export type ListLeaf = Ask<'has_any' | 'has_all' | 'has_none', CaseBlind & { readonly value: readonly Scalar[] }>;
export type EmptyLeaf = Ask<'is_empty'>;
type PresenceLeaf = Ask<'exists' | 'absent'>;
export type MomentLeaf = Ask<'before' | 'after' | 'on', Zoned & { readonly value: Moment }>;
export type SpanLeaf = Ask<'in_last' | 'in_next', Zoned & { readonly value: Span }>;
export type AnniversaryLeaf = Ask<'anniversary', Zoned>;
interface AudienceLeaf {
  readonly audience: string;
  readonly op: 'member' | 'not_member';
}

/** A question about a value of the person or of the event. */
export type ValueLeaf =
  | SameLeaf
  | OrderLeaf
  | PartLeaf
  | PatternLeaf
  | ListLeaf
  | EmptyLeaf
  | PresenceLeaf
  | MomentLeaf
  | SpanLeaf
  | AnniversaryLeaf;

/** A question whose answer is true or false: see the README for what each operator asks. */
export type Leaf = ValueLeaf | AudienceLeaf;

export type Operator = Leaf['op'];

/** A leaf, or and / or / not over conditions. */
export type Condition =
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }
  | { readonly not: Condition }
  | Leaf;

/** How a condition is stored. A condition without this frame is read as version 1. */
export interface StoredCondition {
  readonly version: 1;
  readonly when: Condition;
}

/** How deep conditions may nest, how many children one node may have, and how many leaves there may be in all. */
export const MAX_CONDITION_DEPTH = 8;
export const MAX_CONDITION_CHILDREN = 50;
export const MAX_CONDITION_LEAVES = 200;
/** Longest text that a condition compares, its own or a person's, in UTF-16 units; also what an event carries of a value. */
export const MAX_TEXT_LENGTH = 4_096;
/** Longest list that a condition looks into. */
export const MAX_LIST_LENGTH = 1_000;
