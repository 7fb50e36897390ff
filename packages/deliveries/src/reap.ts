import { type Db, type SQL, sql } from '@dueline/db';

/**
 * sending -> planned for rows whose lease is over: their worker died or froze. The attempt without outcome makes the row
 * ambiguous, so only its own retry key is used from here on. At most 500 rows a call; returns how many it took back.
 */
export async function reapDeliveries(db: Db): Promise<number> {
  return takeBack(db, sql`lease_until < clock_timestamp()`);
}

/**
 * The same for rows that an earlier boot of this very instance was sending, so that a restart does not cost a lease.
 *
 * @param options.settleSeconds As of the start: they are due when so much has passed, when their last attempt is no longer waited for. Announced sooner they would be passed by,
 * and come again only minutes later. At once when not given.
 */
export async function reapEarlierBoots(
  db: Db,
  { claimedBy, settleSeconds = 0 }: { claimedBy: string; settleSeconds?: number },
): Promise<number> {
  const instance = claimedBy.slice(0, claimedBy.lastIndexOf(':')); // a boot id has no colon, an instance name may
  const isStale = sql`regexp_replace(claimed_by, ':[^:]*$', '') = ${instance} and claimed_by <> ${claimedBy}`;
  return takeBack(db, isStale, settleSeconds);
}

async function takeBack(db: Db, isStale: SQL, settleSeconds = 0): Promise<number> {
  const { rowCount } = await db.execute(sql`
    with stale as materialized (
      select id from delivery where status = 'sending' and ${isStale} order by id limit 500 for no key update skip locked
    )
    update delivery
       set status = 'planned', fence = delivery.fence + 1, lease_until = null, published_at = null, announce_count = 0, updated_date = clock_timestamp(),
           next_attempt_at = app_now() + case when exists (
             select from delivery_attempt where delivery_id = delivery.id and outcome is null
                and started_at > clock_timestamp() - make_interval(secs => ${settleSeconds}))
             then make_interval(secs => ${settleSeconds}) else interval '0' end
      from stale where delivery.id = stale.id`);
  return rowCount ?? 0;
}
