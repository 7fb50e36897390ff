import type { EventTopic, Tenant, TenantTicket } from '@dueline/contracts';
import { type Db, lockUsers, type Tx } from '@dueline/db';
import { type OutboxEvent, peekEventUsers } from '@dueline/db/changes';
import { checkAndCompleteDelayWait, type Fact, type WaitMet, whereAwaited } from '@dueline/scheduled-actions';
import { entryOf, type LogEntry } from '@dueline/trigger-rules';

/**
 * In which of these accounts events of this topic need the locks of their people and a look at who waits. Attributes change by the hundred thousand, and
 * mostly nobody waits for one; no wait is for the end of a message or what another service tells; the other topics are one person's doing, and are looked at always.
 */
export async function whereMayBeAwaited(
  db: Db,
  topic: EventTopic,
  tickets: readonly Tenant[],
): Promise<ReadonlySet<string>> {
  if (topic === 'delivery_settled' || topic === 'custom_event') return new Set();
  const accounts = [...new Set(tickets.map(({ lineOaId }) => lineOaId))];
  return topic === 'attribute_changed' ? whereAwaited(db, accounts, 'attribute') : new Set(accounts);
}

/** Before any row is locked, and before anybody looks who waits: a wait that is being made at this moment is not missed. */
export async function lockUsersOf(tx: Tx, tickets: readonly TenantTicket[]): Promise<void> {
  if (tickets.length > 0) await lockUsers(tx, await peekEventUsers(tx, tickets));
}

/** What an event says to those who wait. Robots, people who leave, and bookings that only change say nothing. Pure. */
export function factsOf(event: OutboxEvent): Fact[] {
  const { organizationId, lineOaId, userId, occurredAt, eventId } = event;
  const base = { organizationId, lineOaId, userId, occurredAt, eventId };
  switch (event.topic) {
    case 'attribute_changed':
      return [...event.changed.keys()].map((name) => ({ ...base, source: 'attribute', refId: name }));
    case 'campaign_click':
      return event.isRobot ? [] : [{ ...base, source: 'link', refId: event.trackedLinkId }];
    case 'form_submitted':
      return [{ ...base, source: 'form', refId: event.formId }];
    case 'booking_event':
      return event.type === 'created' ? [{ ...base, source: 'booking', refId: event.bookingId }] : [];
    case 'friend_track_event_inserted':
      return event.type === 'follow' ? [{ ...base, source: 'friend', refId: null }] : [];
    case 'custom_event':
    case 'delivery_settled':
      return [];
  }
}

/**
 * Ends the waits that these events end, and gives the history of all they met. A wait whose row is being decided is left to
 * that decision, which looks at the facts itself. The caller wakes the claimers, and holds the locks
 * of the events' users.
 */
export async function meetWaits(tx: Tx, events: readonly OutboxEvent[]): Promise<LogEntry[]> {
  const met = await checkAndCompleteDelayWait(tx, events.flatMap(factsOf));
  const byId = new Map(events.map((event) => [event.eventId, event]));
  return met.flatMap((wait) => {
    const event = byId.get(wait.eventId);
    return event === undefined || wait.result === 'deciding' ? [] : [historyOf(event, wait)];
  });
}

function historyOf(event: OutboxEvent, wait: WaitMet): LogEntry {
  const completed = wait.result === 'completed';
  return {
    ...entryOf(event),
    triggerRuleId: wait.triggerRuleId,
    ruleVersion: wait.ruleVersion,
    action: null,
    decision: completed ? 'unlocked' : 'suppressed',
    reasonCode: completed ? 'fact_in_time' : 'fact_late',
    detail: { branch: wait.branch },
    scheduledActionId: wait.scheduledActionId,
  };
}
