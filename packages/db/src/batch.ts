import type { TenantTicket, Ticket } from '@dueline/contracts';
import { type SQL, sql } from 'drizzle-orm';

type ColumnType = 'bigint' | 'integer' | 'float8' | 'text' | 'uuid' | 'jsonb' | 'timestamptz';

/** A column of values as one parameter, so that one statement of one shape reads or writes any number of rows. */
export function column(values: readonly (string | number | null)[], type: ColumnType): SQL {
  return sql`${sql.param(arrayLiteral(values))}::${sql.raw(type)}[]`;
}

/** The text of an array as the server reads it. The driver would make the same of an array, at a tenth of what a decision costs. */
export const arrayLiteral = (values: readonly (string | number | null)[]): string =>
  `{${values.map(cellLiteral).join(',')}}`;

function cellLiteral(value: string | number | null): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  const isPlain = !value.includes('"') && !value.includes('\\');
  return isPlain ? `"${value}"` : `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** Tickets as rows `ticket (id, fence)`, each once, to join with the rows they stand for. */
export function ticketRows(tickets: readonly Ticket[]): SQL {
  const ids = tickets.map(({ id }) => id);
  const fences = tickets.map(({ fence }) => fence);
  return sql`(select distinct * from unnest(${column(ids, 'bigint')}, ${column(fences, 'bigint')})) as ticket (id, fence)`;
}

/** The same with whose row it is: `ticket (id, fence, organization_id, line_oa_id)`. */
export function tenantTicketRows(tickets: readonly TenantTicket[]): SQL {
  const col = (read: (ticket: TenantTicket) => string) => column(tickets.map(read), 'bigint');
  return sql`(select distinct * from unnest(
    ${col(({ id }) => id)}, ${col(({ fence }) => fence)},
    ${col(({ organizationId }) => organizationId)}, ${col(({ lineOaId }) => lineOaId)}))
    as ticket (id, fence, organization_id, line_oa_id)`;
}
