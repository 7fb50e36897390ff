import type { Facts } from '@dueline/conditions';
import { SOURCE_TYPES, type Tenant } from '@dueline/contracts';
import type { Tx } from '@dueline/db';
import type { OutboxEvent } from '@dueline/db/changes';
import { campaignsOfIssues } from '@dueline/link-tracking';
import { type EventDetails, type LineUser, loadEventDetails } from '@dueline/recipients';
import {
  fieldsFor,
  listensTo,
  liveRules,
  type MoreOfEvent,
  type ReadRule,
  requirementsOf,
  sourceKeysOf,
  type TriggerRule,
} from '@dueline/trigger-rules';
import { loadPeopleFacts, type Wanted } from './people-facts.ts';

/** The live rules that events of one topic and account may set off. */
export async function rulesFor(tx: Tx, tenant: Tenant, events: readonly OutboxEvent[]): Promise<ReadRule[]> {
  const sourceType = SOURCE_TYPES.find((type) => type === events[0]?.topic);
  if (sourceType === undefined) return [];
  return liveRules(tx, tenant, { sourceType, keys: events.flatMap(sourceKeysOf) });
}

/** What rules are judged by when they meet an event: exactly what their conditions ask about is read, in one statement of each kind. */
export async function loadEventFacts(
  tx: Tx,
  { tenant, events, rules }: { tenant: Tenant; events: readonly OutboxEvent[]; rules: readonly ReadRule[] },
): Promise<(event: OutboxEvent) => (rule: TriggerRule, user: LineUser) => Facts> {
  const read = rules.flatMap((one) => (one.kind === 'rule' ? [one.rule] : []));
  const meetings = events.flatMap((event) =>
    read.flatMap((rule) => (listensTo(rule, event) ? [{ event, needs: requirementsOf(rule) }] : [])),
  );
  const people = await loadPeopleFacts(
    tx,
    meetings.map(({ event, needs }): Wanted => ({ ...tenant, userId: event.userId, needs })),
  );
  const asked = meetings.filter(({ needs }) => needs.eventFields.size > 0).map(({ event }) => event);
  const details = await detailsOf(tx, asked);
  return (event) => (rule, user) => ({
    ...people({ ...tenant, ...user }, requirementsOf(rule)),
    event: fieldsFor(rule, event, moreOf(event, details)),
  });
}

/** What rows say beyond their events, and of which campaigns the clicked links are, by their issues. */
interface Details extends EventDetails {
  readonly campaigns: ReadonlyMap<string, string>;
}

async function detailsOf(tx: Tx, events: readonly OutboxEvent[]): Promise<Details> {
  const idsOf = (idOf: (event: OutboxEvent) => string | undefined) => [
    ...new Set(events.flatMap((event) => idOf(event) ?? [])),
  ];
  const issues = idsOf((event) => (event.topic === 'campaign_click' ? (event.linkIssueId ?? undefined) : undefined));
  const campaigns = await campaignsOfIssues(tx, issues);
  const details = await loadEventDetails(tx, {
    formSubmissions: idsOf((event) => (event.topic === 'form_submitted' ? event.formSubmissionId : undefined)),
    bookings: idsOf((event) => (event.topic === 'booking_event' ? event.bookingId : undefined)),
    customEvents: idsOf((event) => (event.topic === 'custom_event' ? event.customEventId : undefined)),
  });
  return { ...details, campaigns };
}

function moreOf(event: OutboxEvent, { answers, bookings, payloads, campaigns }: Details): MoreOfEvent {
  switch (event.topic) {
    case 'form_submitted':
      return { answers: answers.get(event.formSubmissionId) };
    case 'booking_event':
      return { ...bookings.get(event.bookingId) };
    case 'custom_event':
      return { payload: payloads.get(event.customEventId) };
    case 'campaign_click':
      return { campaignId: event.linkIssueId === null ? undefined : campaigns.get(event.linkIssueId) };
    case 'attribute_changed':
    case 'friend_track_event_inserted':
    case 'delivery_settled':
      return {};
  }
}
