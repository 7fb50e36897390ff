import type { Tenant, Ticket } from '@dueline/contracts';
import { sql } from 'drizzle-orm';
import { ticketRows } from '../batch.ts';
import type { Db, Tx } from '../open.ts';
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
 *
 * @throws PermanentError when an event is not what its topic promises: taken alone, it fails alone.
 */
export async function takeEvents(tx: Tx, tenant: Tenant, tickets: readonly Ticket[]): Promise<OutboxEvent[]> {
  const { rows } = await tx.execute<EventRow>(sql`
    with held as materialized (
      select event.id
        from event_outbox as event
        join ${ticketRows(tickets)}
          on event.id = ticket.id and event.fence = ticket.fence
       where event.status = 'published'
         and event.organization_id = ${tenant.organizationId} and event.line_oa_id = ${tenant.lineOaId}
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
    select ${EVENT_COLUMNS} from gone order by id`);
  return rows.map(parseEvent);
}

/** Failed decisions after which an event is dead. */
const MAX_ATTEMPTS = 20;

/**
 * Counts a failed decision of an event and leaves it for a while: 5 s · 2^n, at most 10 minutes; after 20 it is dead and
 * waits for a person. An event that was decided in the meantime is left alone.
 */
export async function failEvent(db: Db, { id, fence }: Ticket): Promise<void> {
  await db.execute(sql`
    update event_outbox
       set attempts = attempts + 1,
           status = case when attempts + 1 >= ${MAX_ATTEMPTS} then 'dead' else status end,
           fence = fence + case when attempts + 1 >= ${MAX_ATTEMPTS} then 1 else 0 end,
           lease_until = case when attempts + 1 < ${MAX_ATTEMPTS}
                              then clock_timestamp() + least(interval '10 minutes', interval '5 seconds' * power(2, attempts)) end
     where id = ${id} and fence = ${fence} and status = 'published'`);
}
