import { type Db, sql } from '@dueline/db';
import { wakeDue } from './wake.ts';

/**
 * processing -> pending for rows whose lease is over: their worker died, froze or never got the ticket. The try is given
 * back, because a lease that ran out says nothing about the row. At most 500 rows a call, in id order; rows that a deciding
 * transaction holds are skipped. Returns how many rows it took back; the caller goes on until it is none.
 */
export async function recoverStaleProcessing(db: Db): Promise<number> {
  return takeBack(db, sql`lease_until < clock_timestamp()`);
}

/**
 * The same for rows that an earlier boot of this very instance had claimed: a restart costs a second, not a lease.
 *
 * @param options.claimedBy `<instance>:<boot>` of the caller; rows of the same instance and another boot are taken back.
 */
export async function recoverEarlierBoots(db: Db, { claimedBy }: { claimedBy: string }): Promise<number> {
  const instance = claimedBy.slice(0, claimedBy.lastIndexOf(':')); // a boot id has no colon, an instance name may
  return takeBack(db, sql`regexp_replace(claimed_by, ':[^:]*$', '') = ${instance} and claimed_by <> ${claimedBy}`);
}

async function takeBack(db: Db, isStale: ReturnType<typeof sql>): Promise<number> {
  const { rowCount } = await db.execute(sql`
    with stale as materialized (
      select id from scheduled_action
       where status = 'processing' and ${isStale}
       order by id limit 500
         for no key update skip locked
    )
    update scheduled_action as action
       set status = 'pending', fence = action.fence + 1, attempt = action.attempt - 1, lease_until = null, updated_at = clock_timestamp()
      from stale where action.id = stale.id`);
  const takenBack = rowCount ?? 0;
  if (takenBack > 0) await wakeDue(db);
  return takenBack;
}
