import { type Db, type SQL, sql } from '@dueline/db';

/**
 * sending -> planned for rows whose lease is over: their worker died or froze. The attempt without outcome makes the row
 * ambiguous, so only its own retry key is used from here on. At most 500 rows a call; returns how many it took back.
 */
export async function reapDeliveries(db: Db): Promise<number> {
  return takeBack(db, sql`lease_until < clock_timestamp()`);
}

/** The same for rows that an earlier boot of this very instance was sending, so that a restart does not cost a lease. */
export async function reapEarlierBoots(db: Db, { claimedBy }: { claimedBy: string }): Promise<number> {
  const instance = claimedBy.slice(0, claimedBy.lastIndexOf(':')); // a boot id has no colon, an instance name may
  return takeBack(db, sql`regexp_replace(claimed_by, ':[^:]*$', '') = ${instance} and claimed_by <> ${claimedBy}`);
}

async function takeBack(db: Db, isStale: SQL): Promise<number> {
  const { rowCount } = await db.execute(sql`
    with stale as materialized (
      select id from delivery where status = 'sending' and ${isStale} order by id limit 500 for no key update skip locked
    )
    update delivery
       set status = 'planned', fence = delivery.fence + 1, lease_until = null, next_attempt_at = app_now(), published_at = null,
           announce_count = 0, updated_date = clock_timestamp()
      from stale where delivery.id = stale.id`);
  return rowCount ?? 0;
}
