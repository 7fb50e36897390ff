import type { Tenant, Ticket } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { ticketRows } from '../batch.ts';
import type { Tx } from '../open.ts';
import { EVENT_COLUMNS, type EventRow, type OutboxEvent, parseEvent } from './event.ts';

/** The people of whom the events of these tickets tell, each once: for the locks that come before the events'. Locks nothing. */
export async function peekEventUsers(tx: Tx, tenant: Tenant, tickets: readonly Ticket[]): Promise<string[]> {
  const { rows } = await tx.execute<{ user_id: string }>(sql`
    select distinct event.user_id
      from event_outbox as event
      join ${ticketRows(tickets)}
        on event.id = ticket.id and event.fence = ticket.fence
     where event.status = 'published'
       and event.organization_id = ${tenant.organizationId} and event.line_oa_id = ${tenant.lineOaId}`);
  return rows.map(({ user_id }) => user_id);
}

/**
 * published -> gone, into event_archive, for the rows of `tenant` whose fence still fits. Only what comes back may be
 * decided: a repeated or stale ticket has no row any more. Locks in id order, so that two messages never deadlock.
 * Events that a process may have died of are left: see {@link takeEventAlone}.
 *
 * @throws PermanentError when an event is not what its topic promises: taken alone, it fails alone.
 */
export async function takeEvents(tx: Tx, tenant: Tenant, tickets: readonly Ticket[]): Promise<OutboxEvent[]> {
  return take(tx, tenant, { tickets, suspectsToo: false });
}

/** The same for one event, whatever its past: nothing else may be decided in this process meanwhile. */
export async function takeEventAlone(tx: Tx, tenant: Tenant, ticket: Ticket): Promise<OutboxEvent[]> {
  return take(tx, tenant, { tickets: [ticket], suspectsToo: true });
}

async function take(
  tx: Tx,
  tenant: Tenant,
  { tickets, suspectsToo }: { tickets: readonly Ticket[]; suspectsToo: boolean },
): Promise<OutboxEvent[]> {
  const { rows } = await tx.execute<EventRow>(sql`
    with held as materialized (
      select event.id
        from event_outbox as event
        join ${ticketRows(tickets)}
          on event.id = ticket.id and event.fence = ticket.fence
       where event.status = 'published'
         and event.organization_id = ${tenant.organizationId} and event.line_oa_id = ${tenant.lineOaId}
         and (not event.alone or ${suspectsToo})
       order by event.id
         for update of event
    ), gone as (
      delete from event_outbox as event using held where event.id = held.id returning event.*
    ), kept as (
      insert into event_archive (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at,
                                 cause_id, root_id, depth)
      select event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, cause_id, root_id, depth
        from gone
    )
    select ${EVENT_COLUMNS}, replayed from gone order by id`);
  return rows.map(parseEvent);
}
