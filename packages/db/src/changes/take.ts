import type { TenantTicket } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import type { Tx } from '../open.ts';
import { given, statement } from '../statement.ts';
import { EVENT_COLUMNS, type EventRow, type OutboxEvent, parseEvent } from './event.ts';
import { type TicketValues, ticketedEvents, ticketValues } from './ticketed.ts';

/** The people of whom the events of these tickets tell, each once: for the locks that come before the events'. Locks nothing. */
export async function peekEventUsers(
  tx: Tx,
  tickets: readonly TenantTicket[],
): Promise<{ lineOaId: string; userId: string }[]> {
  const rows = await peekUsers(tx, ticketValues(tickets));
  return rows.map(({ line_oa_id, user_id }) => ({ lineOaId: line_oa_id, userId: user_id }));
}

const peekUsers = statement<{ line_oa_id: string; user_id: string }, TicketValues>(sql`
  select distinct event.line_oa_id, event.user_id from ${ticketedEvents()}`);

/**
 * published -> gone, into event_archive, for the rows whose fence and account are those of a ticket. Only what comes back may be
 * decided: a repeated or stale ticket has no row any more. Locks in id order, so that two messages never deadlock.
 * Events that a process may have died of are left: see {@link takeEventAlone}.
 *
 * @throws PermanentError when an event is not what its topic promises: taken alone, it fails alone.
 */
export async function takeEvents(tx: Tx, tickets: readonly TenantTicket[]): Promise<OutboxEvent[]> {
  return take(tx, tickets, { suspectsToo: false });
}

/** The same for one event, whatever its past: nothing else may be decided in this process meanwhile. */
export async function takeEventAlone(tx: Tx, ticket: TenantTicket): Promise<OutboxEvent[]> {
  return take(tx, [ticket], { suspectsToo: true });
}

async function take(
  tx: Tx,
  tickets: readonly TenantTicket[],
  { suspectsToo }: { suspectsToo: boolean },
): Promise<OutboxEvent[]> {
  const rows = await takeRows(tx, { ...ticketValues(tickets), suspects: suspectsToo });
  return rows.map(parseEvent);
}

/** Writes what is `gone` into the archive. */
export const ARCHIVED = sql`
  insert into event_archive (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at,
                             cause_id, root_id, depth)
  select event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, cause_id, root_id, depth
    from gone`;

const takeRows = statement<EventRow, TicketValues & { suspects: boolean }>(sql`
  with held as materialized (
    select event.id from ${ticketedEvents(sql`and (not event.alone or ${given('suspects')}::boolean) for update`)}
  ), gone as (
    delete from event_outbox as event where event.id = any(array(select id from held)) returning event.*
  ), kept as (${ARCHIVED})
  select ${EVENT_COLUMNS}, replayed from gone order by id`);
