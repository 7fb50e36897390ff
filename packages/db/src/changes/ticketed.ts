import type { TenantTicket } from '@dueline/contracts';
import { type SQL, sql } from 'drizzle-orm';
import { arrayLiteral } from '../batch.ts';
import { given } from '../statement.ts';

/**
 * The rows `event` of the outbox that are announced and whose fence and account are those of a ticket, in the template of a statement;
 * `locked` says more of them, and locks them in id order. Each is looked up by its id, however many others are announced: a plan that is
 * kept from when there were none would read all of them.
 */
export const ticketedEvents = (locked: SQL = sql`offset 0`): SQL => sql`
  (select distinct * from unnest(${given('ids')}::bigint[], ${given('fences')}::bigint[], ${given('organizations')}::bigint[],
                                 ${given('accounts')}::bigint[]) as ticket (id, fence, organization_id, line_oa_id)
    order by id) as ticket
 cross join lateral (
   select * from event_outbox as event
    where event.id = ticket.id and event.fence = ticket.fence
      and event.organization_id = ticket.organization_id and event.line_oa_id = ticket.line_oa_id
      and event.status || '' = 'published' -- not by the index of what is announced
      ${locked}) as event`;

/** The tickets, as {@link ticketedEvents} reads them. */
export type TicketValues = Readonly<Record<'ids' | 'fences' | 'organizations' | 'accounts', string>>;
export const ticketValues = (tickets: readonly TenantTicket[]): TicketValues => ({
  ids: arrayLiteral(tickets.map(({ id }) => id)),
  fences: arrayLiteral(tickets.map(({ fence }) => fence)),
  organizations: arrayLiteral(tickets.map(({ organizationId }) => organizationId)),
  accounts: arrayLiteral(tickets.map(({ lineOaId }) => lineOaId)),
});
