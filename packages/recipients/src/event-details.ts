import { column, sql, type Tx } from '@dueline/db';
import type { OutboxEvent } from '@dueline/db/changes';

/** Facts whose rows say more than their events do, by the id of the row. */
export interface EventDetails {
  readonly answers: ReadonlyMap<string, unknown>;
  readonly bookings: ReadonlyMap<string, { readonly name: string; readonly startsAt: string }>;
  readonly payloads: ReadonlyMap<string, unknown>;
}

/** What was answered in forms, what bookings are about and when they start as it stands now, and what came with custom events. */
export async function loadEventDetails(
  tx: Tx,
  ids: { readonly [Kind in 'formSubmissions' | 'bookings' | 'customEvents']?: readonly string[] },
): Promise<EventDetails> {
  const { formSubmissions = [], bookings = [], customEvents = [] } = ids;
  return {
    answers: await documents(tx, sql`select id, answers as document from form_submission`, formSubmissions),
    bookings: await documents(
      tx,
      sql`select id, json_build_object('name', name, 'startsAt', to_char(starts_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) as document
            from booking`,
      bookings,
    ),
    payloads: await documents(tx, sql`select id, payload as document from custom_event`, customEvents),
  };
}

async function documents<Document>(
  tx: Tx,
  select: ReturnType<typeof sql>,
  ids: readonly string[],
): Promise<Map<string, Document>> {
  if (ids.length === 0) return new Map();
  const { rows } = await tx.execute<{ id: string; document: Document }>(
    sql`${select} where id = any(${column(ids, 'bigint')})`,
  );
  return new Map(rows.map(({ id, document }) => [id, document]));
}

/** What the row of an event says beyond the event. */
interface MoreOfEvent {
  readonly answers?: unknown;
  readonly name?: string;
  readonly startsAt?: string;
  readonly payload?: unknown;
}

/** What the rows of these events say beyond them: answers of forms, bookings as they stand now, payloads of custom events. Pure once it is loaded. */
export async function loadMoreOfEvents(
  tx: Tx,
  events: readonly OutboxEvent[],
): Promise<(event: OutboxEvent) => MoreOfEvent> {
  const idsOf = (idOf: (event: OutboxEvent) => string | undefined) => [
    ...new Set(events.flatMap((event) => idOf(event) ?? [])),
  ];
  const details = await loadEventDetails(tx, {
    formSubmissions: idsOf((event) => (event.topic === 'form_submitted' ? event.formSubmissionId : undefined)),
    bookings: idsOf((event) => (event.topic === 'booking_event' ? event.bookingId : undefined)),
    customEvents: idsOf((event) => (event.topic === 'custom_event' ? event.customEventId : undefined)),
  });
  return (event) => moreOf(event, details);
}

function moreOf(event: OutboxEvent, { answers, bookings, payloads }: EventDetails): MoreOfEvent {
  switch (event.topic) {
    case 'form_submitted':
      return { answers: answers.get(event.formSubmissionId) };
    case 'booking_event':
      return { ...bookings.get(event.bookingId) };
    case 'custom_event':
      return { payload: payloads.get(event.customEventId) };
    case 'attribute_changed':
    case 'campaign_click':
    case 'friend_track_event_inserted':
    case 'delivery_settled':
      return {};
  }
}
