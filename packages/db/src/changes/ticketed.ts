import type { TenantTicket } from '@dueline/contracts';
import { type SQL, sql } from 'drizzle-orm';
import { tenantTicketRows } from '../batch.ts';

/**
 * The rows `event` of the outbox that are announced and whose fence and account are those of a ticket; `locked` says more of them, and locks
 * them in id order. Each is looked up by its id, however many others are announced: a plan that is kept from when there were none would
 * read all of them.
 */
export const ticketedEvents = (tickets: readonly TenantTicket[], locked: SQL = sql`offset 0`): SQL => sql`
  (select * from ${tenantTicketRows(tickets)} order by id) as ticket
 cross join lateral (
   select * from event_outbox as event
    where event.id = ticket.id and event.fence = ticket.fence
      and event.organization_id = ticket.organization_id and event.line_oa_id = ticket.line_oa_id
      and event.status || '' = 'published' -- not by the index of what is announced
      ${locked}) as event`;
