import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, sql, ticketRows } from '@dueline/db';
import { heedsQuietHours, isInDoubt } from './state.ts';

/**
 * Lets those of the tenant's planned rows come again when the quiet hours of their account end that startDeliveries left alone because of
 * them, spread as what comes due then is: announced in vain meanwhile they would come up to ten minutes later. The fence does not move. Rows are
 * locked in id order.
 *
 * @throws TransientError when the database was not ready.
 */
export async function postponeQuiet(db: Db, tenant: Tenant, tickets: readonly Ticket[]): Promise<void> {
  if (tickets.length === 0) return;
  await db.execute(sql`
    with quiet as materialized (
      select delivery.id, after_quiet_hours(app_now(), account.id, account.timezone, account.quiet_zone, account.quiet_from, account.quiet_to,
                                            account.spread_minutes, delivery.user_id, delivery.id) as until
        from delivery
        join ${ticketRows(tickets)} on delivery.id = ticket.id and delivery.fence = ticket.fence
        join line_oa as account on account.id = delivery.line_oa_id and ${heedsQuietHours}
       where delivery.status = 'planned' and delivery.next_attempt_at <= app_now()
         and delivery.organization_id = ${tenant.organizationId} and delivery.line_oa_id = ${tenant.lineOaId}
         and not exists (select from delivery_attempt
                          where delivery_id = delivery.id and retry_key = delivery.retry_key and ${isInDoubt})
       order by delivery.id
         for no key update of delivery
    )
    update delivery set next_attempt_at = quiet.until, published_at = null, announce_count = 0, updated_date = clock_timestamp()
      from quiet where delivery.id = quiet.id and quiet.until is not null`);
}
