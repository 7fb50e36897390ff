import type { Tenant, Ticket } from '@dueline/contracts';
import { column, type Db, sql, type Tx } from '@dueline/db';

/** A ticket whose delivery may be begun no sooner than in `waitMs` milliseconds of product time. */
export interface PostponedTicket extends Ticket {
  readonly waitMs: number;
}

/**
 * Lets the tenant's planned rows whose fence fits come again later: they are announced anew at their time. No attempt is counted, and the fence
 * does not move. Rows are locked in id order.
 *
 * @throws TransientError when the database was not ready.
 */
export async function postponeDeliveries(
  db: Db | Tx,
  tenant: Tenant,
  tickets: readonly PostponedTicket[],
): Promise<void> {
  if (tickets.length === 0) return;
  const col = (read: (ticket: PostponedTicket) => string | number, type: 'bigint' | 'float8') =>
    column(tickets.map(read), type);
  await db.execute(sql`
    with held as materialized (
      select delivery.id, ticket.wait_ms
        from delivery
        join (select id, fence, max(wait_ms) as wait_ms
                from unnest(${col(({ id }) => id, 'bigint')}, ${col(({ fence }) => fence, 'bigint')},
                            ${col(({ waitMs }) => waitMs, 'float8')}) as one (id, fence, wait_ms)
               group by 1, 2) as ticket on delivery.id = ticket.id and delivery.fence = ticket.fence
       where delivery.status = 'planned' and delivery.next_attempt_at <= app_now()
         and delivery.organization_id = ${tenant.organizationId} and delivery.line_oa_id = ${tenant.lineOaId}
       order by delivery.id
         for no key update of delivery
    )
    update delivery
       set next_attempt_at = app_now() + make_interval(secs => held.wait_ms / 1000), published_at = null, announce_count = 0,
           updated_date = clock_timestamp()
      from held where delivery.id = held.id`);
}
