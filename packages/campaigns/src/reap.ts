import { column, type Db, inTransaction, type SQL, sql } from '@dueline/db';

/**
 * sending -> scheduled for campaigns that gave no sign of life for `staleSeconds` (the seeds' 15 minutes) of process time and
 * have no request on its way: the next claim goes on with what is left. At most 500 a call; returns how many it took back.
 */
export async function reapCampaigns(db: Db, { staleSeconds }: { staleSeconds: number }): Promise<number> {
  return takeBack(db, sql`claimed_at < clock_timestamp() - make_interval(secs => ${staleSeconds})`);
}

/**
 * The same for campaigns that an earlier boot of this very instance had claimed and nobody has started, so that a restart costs
 * a second.
 *
 * @param options.claimedBy `<instance>:<boot>` of the caller.
 */
export async function recoverEarlierBoots(db: Db, { claimedBy }: { claimedBy: string }): Promise<number> {
  const instance = claimedBy.slice(0, claimedBy.lastIndexOf(':')); // a boot id has no colon, an instance name may
  return takeBack(db, sql`regexp_replace(claimed_by, ':[^:]*$', '') = ${instance} and claimed_by <> ${claimedBy}`);
}

/** Locks first and looks at the deliveries in a second statement: a start that held the campaign has committed by then. */
function takeBack(db: Db, isStale: SQL): Promise<number> {
  return inTransaction(db, async (tx) => {
    const stale = await tx.execute<{ id: string }>(sql`
      select id from campaign where status = 'sending' and ${isStale} order by id limit 500 for no key update skip locked`);
    if (stale.rows.length === 0) return 0;
    const ids = stale.rows.map(({ id }) => id);
    const { rowCount } = await tx.execute(sql`
      update campaign set status = 'scheduled', fence = fence + 1, updated_date = clock_timestamp()
       where id = any(${column(ids, 'bigint')})
         and not exists (select from delivery where campaign_id = campaign.id and status = 'sending')`);
    return rowCount ?? 0;
  });
}
