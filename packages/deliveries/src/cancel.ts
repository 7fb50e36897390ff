import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { isInDoubt } from './state.ts';

/** What became of the messages of one action that shall not be sent any more. */
export interface CancelledDelivery {
  readonly scheduledActionId: string;
  /**
   * `cancelled`: what had not left of it will not be sent (of several parts, earlier ones may have arrived); `sent`: LINE accepted it; `in_doubt`: it is on its way or may have arrived, and its key goes
   * on being asked for; `ended`: it was refused, expired or cancelled before.
   */
  readonly result: 'cancelled' | 'sent' | 'in_doubt' | 'ended';
}

/**
 * planned -> cancelled for the messages of these actions that nothing has left of: a ticket in a queue is stale from then on. An
 * action without a message is left out. Locks in id order, and waits for a start of one of them.
 */
export async function cancelDeliveries(
  tx: Tx,
  { tenant, scheduledActionIds }: { tenant: Tenant; scheduledActionIds: readonly string[] },
): Promise<CancelledDelivery[]> {
  if (scheduledActionIds.length === 0) return [];
  const isTheirs = sql`
    delivery.kind = 'action' and delivery.logical_id = any(${column(scheduledActionIds, 'text')})
    and delivery.organization_id = ${tenant.organizationId} and delivery.line_oa_id = ${tenant.lineOaId}`;
  await tx.execute(sql`select from delivery where ${isTheirs} order by id for no key update`);
  // A statement of its own, so that it sees the attempts of whoever it waited for.
  const { rows } = await tx.execute<{ [key in keyof CancelledDelivery]: CancelledDelivery[key] }>(sql`
    with found as materialized (
      select id, logical_id, status,
             exists (select from delivery_attempt where delivery_id = delivery.id and retry_key = delivery.retry_key and ${isInDoubt}) as in_doubt
        from delivery where ${isTheirs}
    ), cancelled as (
      update delivery
         set status = 'cancelled', fence = delivery.fence + 1, reason_code = 'by_person', updated_date = clock_timestamp()
       where id = any(array(select id from found where status = 'planned' and not in_doubt))
      returning id
    )
    select logical_id as "scheduledActionId",
           case when bool_or(cancelled.id is not null) then 'cancelled'
                when bool_or(status in ('planned', 'sending', 'unknown')) then 'in_doubt'
                when bool_or(status = 'accepted') then 'sent'
                else 'ended' end as result
      from found left join cancelled on cancelled.id = found.id
     group by logical_id order by logical_id`);
  return rows;
}
