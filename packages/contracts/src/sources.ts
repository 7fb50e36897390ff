import { z } from 'zod';
import { BOOKING_EVENT_TYPES } from './events.ts';
import { bigintId } from './ids.ts';
import { attributeName } from './names.ts';
import { scheduledTimeConfig } from './schedules.ts';
import { isStorable, NOT_STORABLE } from './storable.ts';

/** A value that people name: text, number or boolean. */
export const scalar = z.union([z.string().max(4_096).refine(isStorable, NOT_STORABLE), z.number(), z.boolean()]);
export type Scalar = z.infer<typeof scalar>;

/** The name of an event that another service reports: `purchase`, `cart.abandoned`. */
export const customEventName = z
  .string()
  .regex(/^[a-z][a-z0-9_.-]{0,63}$/, 'a small letter, then at most 63 small letters, digits, or _ . -');

/** One side of a change of an attribute; null: it was not there, or is there no more. Left out: any. */
const side = scalar.nullable().optional();

/** What a rule says of the source that sets it off (`source_config`), save for its conditions. A source that is an event bears the name of its topic. */
export const SOURCE_FILTERS = {
  attribute_changed: z.strictObject({ attribute: attributeName, from: side, to: side }),
  /** A submission of one form; left out: of any. */
  form_submitted: z.strictObject({ formId: bigintId.optional() }),
  /** A click of a person on one link, left out: on any, in the messages of one campaign, left out: in whatever message. Robots never set off a rule. */
  campaign_click: z.strictObject({ trackedLinkId: bigintId.optional(), campaignId: bigintId.optional() }),
  /** Somebody follows the account: `new`, who did not block it before, as LINE tells; `unblocked`, who did; or `any`. */
  friend_track_event_inserted: z.strictObject({ follow: z.enum(['any', 'new', 'unblocked']).default('any') }),
  booking_event: z.strictObject({ types: z.array(z.enum(BOOKING_EVENT_TYPES)).min(1).default(['created']) }),
  custom_event: z.strictObject({ name: customEventName }),
  scheduled_time: scheduledTimeConfig,
} as const satisfies Readonly<Record<string, z.ZodType>>;

/** The sources a rule can name. */
export type SourceType = keyof typeof SOURCE_FILTERS;
export const SOURCE_TYPES = Object.keys(SOURCE_FILTERS) as [SourceType, ...SourceType[]];

/** How often a rule may fire for one user; calendar windows are those of the account's zone. */
export const FREQUENCIES = ['every_time', 'once', 'once_per_hour', 'once_per_day', 'once_per_week'] as const;
export type Frequency = (typeof FREQUENCIES)[number];

/** Whether a person enters a rule anew: also while something of it waits for them, only when nothing does, or never again. */
export const REENTRIES = ['always', 'not_while_open', 'never'] as const;
export type Reentry = (typeof REENTRIES)[number];

/** A draft is not looked at; a rule that observes is judged and written down, and does nothing. */
export const RULE_MODES = ['draft', 'observe', 'live'] as const;
export type RuleMode = (typeof RULE_MODES)[number];
