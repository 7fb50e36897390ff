import { sql, type Tx } from '@dueline/db';
import { planInNextEpoch } from './new-epoch.ts';
import { isInDoubt, RETRY_KEY_HOURS } from './state.ts';

/**
 * planned -> planned in a new epoch, with a new retry key, for rows whose key may not be used any more (23 hours since their first
 * attempt), whose attempts reached nobody for sure, and which are still worth sending: LINE was away, or would not serve the account. A row
 * in doubt never gets a new key by itself. Returns how many; at most 500 a call.
 */
export async function renewDeliveries(tx: Tx): Promise<number> {
  const which = sql`
    delivery.status = 'planned' and first_attempt_at <= app_now() - make_interval(hours => ${RETRY_KEY_HOURS})
    and next_attempt_at <= app_now() and deliver_until > app_now()
    and not exists (select from delivery_attempt
                     where delivery_id = delivery.id and retry_key = delivery.retry_key and ${isInDoubt})`;
  return (await planInNextEpoch(tx, { which, limit: 500, skipLocked: true })).length;
}
