import type { Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { isInDoubt, isProven, provenRequestId, RETRY_KEY_HOURS } from './state.ts';

/** A delivery that nobody will ask LINE for any more. */
export interface ClosedDelivery extends Tenant {
  readonly id: string;
  readonly status: 'accepted' | 'unknown' | 'expired';
  /** Null: a chunk of a campaign. */
  readonly userId: string | null;
  readonly isWebhook: boolean;
  /** A switch to the menu that its person shall see: no newer wish has overtaken it. */
  readonly isLastMenu: boolean;
}

type ClosedRow = {
  id: string;
  organization_id: string;
  line_oa_id: string;
  status: ClosedDelivery['status'];
  user_id: string | null;
  is_webhook: boolean;
  is_last_menu: boolean;
};

/**
 * planned -> expired for clean rows past `deliver_until`, planned -> unknown for ambiguous rows 23 hours after their first
 * attempt, or accepted where an attempt tells so: nobody will be asked again, and what it is, is never guessed. At most 500
 * rows a call; what is unknown needs a person, and the caller says so in this transaction.
 */
export async function closeOverdueDeliveries(tx: Tx): Promise<ClosedDelivery[]> {
  const { rows } = await tx.execute<ClosedRow>(sql`
    with late as materialized (
      select id, doubt.ambiguous, ${isProven} as proven
        from delivery
       cross join lateral (
         select exists (select from delivery_attempt
                         where delivery_id = delivery.id and retry_key = delivery.retry_key and ${isInDoubt}) as ambiguous) as doubt
       where status = 'planned' and next_attempt_at <= app_now()
         and id = any(array(
           select id from delivery where status = 'planned' and deliver_until <= app_now()
            union
           select id from delivery where status = 'planned' and first_attempt_at <= app_now() - make_interval(hours => ${RETRY_KEY_HOURS})))
         and case when doubt.ambiguous then first_attempt_at <= app_now() - make_interval(hours => ${RETRY_KEY_HOURS})
                  else deliver_until <= app_now() end
       order by id limit 500
         for no key update of delivery skip locked
    )
    update delivery
       set status = case when late.proven then 'accepted' when late.ambiguous then 'unknown' else 'expired' end,
           fence = delivery.fence + 1,
           accepted_at = case when late.proven then app_now() end,
           line_request_id = case when late.proven then ${provenRequestId} else delivery.line_request_id end,
           reason_code = case when late.proven then null when late.ambiguous then 'ambiguous' else 'too_late' end,
           updated_date = clock_timestamp()
      from late
     where delivery.id = late.id
    returning delivery.id, organization_id, line_oa_id, status, user_id, endpoint = 'webhook' as is_webhook,
              exists (select from rich_menu_wish as wish join user_rich_menu as person using (line_oa_id, user_id)
                       where wish.delivery_id = delivery.id and wish.action_seq = person.action_seq) as is_last_menu`);
  return rows.map((row) => ({
    id: row.id,
    organizationId: row.organization_id,
    lineOaId: row.line_oa_id,
    status: row.status,
    userId: row.user_id,
    isWebhook: row.is_webhook,
    isLastMenu: row.is_last_menu,
  }));
}
