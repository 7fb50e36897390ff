import type { TenantTicket } from '@dueline/contracts';
import { type SQL, sql } from 'drizzle-orm';
import { tenantTicketRows } from '../batch.ts';

/** The rows `event` of the outbox that are announced and whose fence and account are those of a ticket, up to its WHERE. */
export const ticketedEvents = (tickets: readonly TenantTicket[]): SQL => sql`
  event_outbox as event
  join ${tenantTicketRows(tickets)}
    on event.id = ticket.id and event.fence = ticket.fence
   and event.organization_id = ticket.organization_id and event.line_oa_id = ticket.line_oa_id
 where event.status = 'published'`;
