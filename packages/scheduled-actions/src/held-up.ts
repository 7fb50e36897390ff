import type { Tenant } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { type ActionRow, parseAction, type StoredAction } from './action-row.ts';
import { cancelHeld } from './cancelled.ts';

/** Rows per transaction. */
const BATCH = 500;

/** Rows of an account that are due by `until`, up to 500, locked in id order. */
const heldUp = ({ organizationId, lineOaId }: Tenant, until: string) => sql`
  picked as materialized (
    select id from scheduled_action
     where status = 'pending' and lane in (0, 1, 2) and line_oa_id = ${lineOaId} and execute_at <= ${until}::timestamptz
     limit ${BATCH}
  ), held as materialized (
    select id from scheduled_action
     where id = any(array(select id from picked)) and status = 'pending' and organization_id = ${organizationId}
       and execute_at <= ${until}::timestamptz
     order by id
       for no key update
  )`;

/**
 * pending -> cancelled (`skipped_while_stopped`) for up to 500 actions of a stopped account that are due by `until`. The caller writes
 * their history and goes on until none are left.
 */
export async function skipHeldUp(tx: Tx, tenant: Tenant, { until }: { until: string }): Promise<StoredAction[]> {
  const { rows } = await tx.execute<ActionRow>(
    sql`with ${heldUp(tenant, until)} ${cancelHeld('skipped_while_stopped')}`,
  );
  return rows.map(parseAction);
}

/**
 * pending -> pending for up to 500 actions of a stopped account that are due by `until`: each is due a while after it, spread over the
 * account's spread_minutes or a tenth of the time since `since`, whichever is less, and not past its max_lateness. The same row
 * gets the same place each time. Returns how many it moved; the caller goes on until none are left.
 */
export async function spreadHeldUp(
  tx: Tx,
  tenant: Tenant,
  { since, until }: { since: string; until: string },
): Promise<number> {
  const { rowCount } = await tx.execute(sql`
    with ${heldUp(tenant, until)}
    update scheduled_action as action
       set fence = action.fence + 1, updated_at = clock_timestamp(),
           execute_at = ${until}::timestamptz + greatest(interval '1 millisecond', least(
             spread(action.user_id, action.id, account.spread_minutes, ${until}::timestamptz - ${since}::timestamptz),
             action.due_at + make_interval(secs => action.max_lateness_seconds) - ${until}::timestamptz))
      from held, line_oa as account
     where action.id = held.id and account.id = action.line_oa_id`);
  return rowCount ?? 0;
}
