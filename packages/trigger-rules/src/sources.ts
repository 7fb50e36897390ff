import { conditionOf } from '@dueline/conditions';
import { SOURCE_FILTERS, type SourceType } from '@dueline/contracts';
import type { z } from 'zod';

/** What conditions may ask about an event of each source: the first parts of their JSON pointers. */
const EVENT_FIELDS = {
  attribute_changed: ['attribute', 'from', 'to', 'occurredAt'],
  form_submitted: ['formId', 'answers', 'occurredAt'],
  campaign_click: ['trackedLinkId', 'campaignId', 'occurredAt'],
  friend_track_event_inserted: ['isUnblocked', 'occurredAt'],
  booking_event: ['bookingId', 'type', 'name', 'startsAt', 'occurredAt'],
  custom_event: ['name', 'payload', 'occurredAt'],
  scheduled_time: [],
} as const satisfies Record<SourceType, readonly string[]>;

const conditionsOn = (type: SourceType) => ({ conditions: conditionOf(EVENT_FIELDS[type]).optional() });

/** `source_config` of each source: which events set the rule off, and the conditions that must hold. */
export const SOURCE_CONFIGS = {
  attribute_changed: SOURCE_FILTERS.attribute_changed.extend(conditionsOn('attribute_changed')),
  form_submitted: SOURCE_FILTERS.form_submitted.extend(conditionsOn('form_submitted')),
  campaign_click: SOURCE_FILTERS.campaign_click.extend(conditionsOn('campaign_click')),
  friend_track_event_inserted: SOURCE_FILTERS.friend_track_event_inserted.extend(
    conditionsOn('friend_track_event_inserted'),
  ),
  booking_event: SOURCE_FILTERS.booking_event.extend(conditionsOn('booking_event')),
  custom_event: SOURCE_FILTERS.custom_event.extend(conditionsOn('custom_event')),
  scheduled_time: SOURCE_FILTERS.scheduled_time.safeExtend(conditionsOn('scheduled_time')),
} as const satisfies Record<SourceType, z.ZodType>;

/** The source of a rule, checked. */
export type RuleSource<Type extends SourceType = SourceType> = {
  [T in Type]: { readonly sourceType: T; readonly sourceConfig: z.infer<(typeof SOURCE_CONFIGS)[T]> };
}[Type];

/** The source of a rule as a person writes it. */
export type RuleSourceDraft<Type extends SourceType = SourceType> = {
  [T in Type]: { readonly sourceType: T; readonly sourceConfig: z.input<(typeof SOURCE_CONFIGS)[T]> };
}[Type];
