import { column, type Db, sql } from '@dueline/db';

/**
 * A sign of life, after each verdict: moves `claimed_at` when it is older than `everySeconds` of process time, so that a
 * campaign of many chunks writes its row once in that time.
 */
export async function heartbeatCampaign(
  db: Db,
  { campaignId, everySeconds }: { campaignId: string; everySeconds: number },
): Promise<void> {
  await db.execute(sql`
    update campaign set claimed_at = clock_timestamp()
     where id = ${campaignId} and status = 'sending' and claimed_at < clock_timestamp() - make_interval(secs => ${everySeconds})`);
}

/**
 * sending -> sent for frozen campaigns of which nothing is planned or on its way, or -> needs_attention when the fate of a chunk
 * is unknown. A statement of its own, after the verdict's commit: inside of it two last chunks would miss each other.
 *
 * @param options.campaignIds Only these; all that are being sent when not given.
 * @returns The ids of those it closed.
 */
export async function closeCampaigns(
  db: Db,
  { campaignIds }: { campaignIds?: readonly string[] } = {},
): Promise<string[]> {
  const chosen = campaignIds === undefined ? sql`true` : sql`id = any(${column(campaignIds, 'bigint')})`;
  const { rows } = await db.execute<{ id: string }>(sql`
    with finished as materialized (
      select id, exists (select from delivery where campaign_id = campaign.id and status = 'unknown') as is_unknown
        from campaign
       where status = 'sending' and frozen_at is not null and ${chosen}
         and not exists (select from delivery where campaign_id = campaign.id and status in ('planned', 'sending'))
       order by id limit 500
         for no key update of campaign
    )
    update campaign
       set status = case when is_unknown then 'needs_attention' else 'sent' end, fence = campaign.fence + 1,
           sent_at = case when is_unknown then null else app_now() end,
           reason_code = case when is_unknown then 'chunk_unknown' end, updated_date = clock_timestamp()
      from finished where campaign.id = finished.id
    returning campaign.id`);
  return rows.map(({ id }) => id);
}
