import { z } from 'zod';
import { bigintId } from './ids.ts';

/** What an event of the outbox may tell. A topic is also the name of the queue that carries its tickets. */
export const EVENT_TOPICS = [
  'attribute_changed',
  'form_submitted',
  'campaign_click',
  'friend_track_event_inserted',
  'booking_event',
  'custom_event',
  'delivery_settled',
] as const;
export type EventTopic = (typeof EVENT_TOPICS)[number];

/** A side that is left out was absent; `null` is JSON null, or a value too large to travel (over 4,096 characters). */
export interface AttributeChange {
  readonly from?: unknown;
  readonly to?: unknown;
}

export const FRIEND_EVENT_TYPES = ['follow', 'unfollow'] as const;
export type FriendEventType = (typeof FRIEND_EVENT_TYPES)[number];

/** How a delivery may end. */
export const DELIVERY_ENDS = ['accepted', 'refused', 'unknown', 'expired', 'cancelled'] as const;
export type DeliveryEnd = (typeof DELIVERY_ENDS)[number];

export const BOOKING_EVENT_TYPES = ['created', 'rescheduled', 'cancelled', 'completed', 'no_show'] as const;
export type BookingEventType = (typeof BOOKING_EVENT_TYPES)[number];

/** What an event of each topic says beyond whose it is and when it happened. */
export interface EventPayloads {
  /** By attribute name; a Map, so that names such as __proto__ are keys like any other. */
  readonly attribute_changed: { readonly changed: ReadonlyMap<string, AttributeChange> };
  readonly form_submitted: { readonly formSubmissionId: string; readonly formId: string };
  readonly campaign_click: {
    readonly clickId: string;
    readonly trackedLinkId: string;
    /** The link as it stood in one message; null: nobody knows in which. */
    readonly linkIssueId: string | null;
    readonly isRobot: boolean;
  };
  readonly friend_track_event_inserted: {
    readonly friendTrackEventId: string;
    readonly type: FriendEventType;
    /** Whether who follows had blocked the account before, as LINE tells. */
    readonly isUnblocked: boolean;
  };
  readonly booking_event: {
    readonly bookingEventId: string;
    readonly bookingId: string;
    readonly type: BookingEventType;
  };
  /** What another service told of; what it said beside the name stays in its row. */
  readonly custom_event: { readonly customEventId: string; readonly name: string };
  readonly delivery_settled: {
    readonly deliveryId: string;
    readonly status: DeliveryEnd;
    readonly reasonCode: string | null;
    readonly kind: 'action' | 'event';
    readonly logicalId: string;
    /** Null: of an action that ran at once. */
    readonly scheduledActionId: string | null;
  };
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Taken as it is: a record of zod would lose a key named __proto__. */
const changes = z.custom<Record<string, AttributeChange>>(
  (value) => isObject(value) && Object.values(value).every(isObject),
);

/** What reads a payload of the outbox. */
export type PayloadSchema<Payload> = z.ZodType<Payload>;

/** Payloads as the triggers of the outbox write them: column names, every value as text. */
export const EVENT_PAYLOADS: { readonly [Topic in EventTopic]: PayloadSchema<EventPayloads[Topic]> } = {
  attribute_changed: z.object({ changed: changes }).transform(({ changed }) => ({
    changed: new Map(Object.entries(changed)),
  })),
  form_submitted: z
    .object({ id: bigintId, form_id: bigintId })
    .transform((row) => ({ formSubmissionId: row.id, formId: row.form_id })),
  campaign_click: z
    .object({
      id: bigintId,
      tracked_link_id: bigintId,
      link_issue_id: bigintId.nullable(),
      is_robot: z.enum(['true', 'false']),
    })
    .transform((row) => ({
      clickId: row.id,
      trackedLinkId: row.tracked_link_id,
      linkIssueId: row.link_issue_id,
      isRobot: row.is_robot === 'true',
    })),
  friend_track_event_inserted: z
    .object({
      id: bigintId,
      type: z.enum(FRIEND_EVENT_TYPES),
      is_unblocked: z.enum(['true', 'false']).default('false'),
    })
    .transform((row) => ({
      friendTrackEventId: row.id,
      type: row.type,
      isUnblocked: row.is_unblocked === 'true',
    })),
  booking_event: z
    .object({ id: bigintId, booking_id: bigintId, type: z.enum(BOOKING_EVENT_TYPES) })
    .transform((row) => ({ bookingEventId: row.id, bookingId: row.booking_id, type: row.type })),
  custom_event: z
    .object({ id: bigintId, name: z.string() })
    .transform((row) => ({ customEventId: row.id, name: row.name })),
  delivery_settled: z
    .object({
      id: bigintId,
      status: z.enum(DELIVERY_ENDS),
      reason_code: z.string().nullable(),
      kind: z.enum(['action', 'event']),
      logical_id: z.string(),
      scheduled_action_id: bigintId.nullable(),
    })
    .transform((row) => ({
      deliveryId: row.id,
      status: row.status,
      reasonCode: row.reason_code,
      kind: row.kind,
      logicalId: row.logical_id,
      scheduledActionId: row.scheduled_action_id,
    })),
};
