import {
  EVENT_PAYLOADS,
  type EventPayloads,
  type EventTopic,
  type PayloadSchema,
  type Tenant,
} from '@dueline/contracts';
import { PermanentError } from '@dueline/kernel';
import { sql } from 'drizzle-orm';

/** What every event says. */
interface EventBase extends Tenant {
  readonly id: string;
  readonly eventId: string;
  readonly userId: string;
  /** When it happened by product time, RFC 3339 in UTC with microseconds. */
  readonly occurredAt: string;
  readonly bulk: boolean;
  readonly causeId: string | null;
  readonly rootId: string;
  readonly depth: number;
  readonly traceparent: string | null;
  /** It was decided before, and somebody wants it decided once more. */
  readonly replayed?: boolean;
}

/** One event, taken out of the outbox by the transaction that decides it. */
export type OutboxEvent = {
  readonly [Topic in EventTopic]: EventBase & { readonly topic: Topic } & EventPayloads[Topic];
}[EventTopic];
export type EventOf<Topic extends EventTopic> = Extract<OutboxEvent, { topic: Topic }>;

/** A row of event_outbox, read by {@link EVENT_COLUMNS}. */
export type EventRow = {
  id: string;
  event_id: string;
  topic: EventTopic;
  organization_id: string;
  line_oa_id: string;
  user_id: string;
  payload: unknown;
  happened: string | null;
  bulk: boolean;
  cause_id: string | null;
  root_id: string;
  depth: number;
  traceparent: string | null;
  replayed?: boolean;
};

export const EVENT_COLUMNS = sql`
  id, event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, cause_id, root_id, depth, traceparent,
  case when isfinite(occurred_at) then to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') end as happened`;

/** @throws PermanentError when a payload is not what its topic promises: that event fails, and no other. */
export function parseEvent(row: EventRow): OutboxEvent {
  const base = baseOf(row);
  const { topic } = row;
  switch (topic) {
    case 'attribute_changed':
      return { ...base, topic, ...payloadOf(row, EVENT_PAYLOADS[topic]) };
    case 'form_submitted':
      return { ...base, topic, ...payloadOf(row, EVENT_PAYLOADS[topic]) };
    case 'campaign_click':
      return { ...base, topic, ...payloadOf(row, EVENT_PAYLOADS[topic]) };
    case 'friend_track_event_inserted':
      return { ...base, topic, ...payloadOf(row, EVENT_PAYLOADS[topic]) };
    case 'booking_event':
      return { ...base, topic, ...payloadOf(row, EVENT_PAYLOADS[topic]) };
    case 'custom_event':
      return { ...base, topic, ...payloadOf(row, EVENT_PAYLOADS[topic]) };
    case 'delivery_settled':
      return { ...base, topic, ...payloadOf(row, EVENT_PAYLOADS[topic]) };
  }
}

function payloadOf<Payload>(row: EventRow, schema: PayloadSchema<Payload>): Payload {
  const parsed = schema.safeParse(row.payload);
  if (!parsed.success)
    throw new PermanentError('a payload is not what its topic promises', { context: { id: row.id } });
  return parsed.data;
}

function baseOf(row: EventRow): EventBase {
  if (row.happened === null) throw new PermanentError('an event has no time', { context: { id: row.id } });
  return {
    id: row.id,
    eventId: row.event_id,
    organizationId: row.organization_id,
    lineOaId: row.line_oa_id,
    userId: row.user_id,
    occurredAt: row.happened,
    bulk: row.bulk,
    causeId: row.cause_id,
    rootId: row.root_id,
    depth: row.depth,
    traceparent: row.traceparent,
    ...(row.replayed === true && { replayed: true }),
  };
}
