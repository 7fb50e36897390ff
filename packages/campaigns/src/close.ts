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

/** A request that ended without being accepted, other than by naming its one person: somebody may be missing what was promised. */
const isMissing = sql`status = 'expired' or (status = 'refused' and reason_code is distinct from 'invalid_recipient')`;

/**
 * sending -> sent for frozen campaigns of which nothing is planned or on its way: everybody was accepted, or is nobody whom LINE takes.
 * -> failed when LINE takes the content for nobody; -> needs_attention when the fate of a request is unknown, or it ended without being
 * accepted. A statement of its own, after the verdict's commit: inside of it two last chunks would miss each other.
 *
 * @param options.campaignIds Only these; all that are being sent when not given.
 * @returns The ids of those it closed.
 */
export async function closeCampaigns(
  db: Db,
  { campaignIds }: { campaignIds?: readonly string[] } = {},
): Promise<string[]> {
  const chosen = campaignIds === undefined ? sql`true` : sql`campaign.id = any(${column(campaignIds, 'bigint')})`;
  const { rows } = await db.execute<{ id: string }>(sql`
    with finished as materialized (
      select campaign.id, chunks.*
        from campaign
       cross join lateral (
         select coalesce(bool_or(status = 'unknown'), false) as some_unknown,
                coalesce(bool_or(status = 'accepted'), false) as some_accepted,
                coalesce(bool_or(status = 'refused' and reason_code = 'content'), false) as some_content,
                coalesce(bool_or(${isMissing}), false) as some_missing
           from delivery where campaign_id = campaign.id) as chunks
       where campaign.status = 'sending' and frozen_at is not null and ${chosen}
         and not exists (select from delivery where campaign_id = campaign.id and status in ('planned', 'sending'))
       order by campaign.id limit 500
         for no key update of campaign
    ), judged as (
      select id,
             case when some_unknown then 'needs_attention' when some_content and not some_accepted then 'failed'
                  when some_missing then 'needs_attention' else 'sent' end as status,
             case when some_unknown then 'chunk_unknown' when some_content and not some_accepted then 'content_refused'
                  when some_missing then 'chunk_not_sent' end as reason_code
        from finished
    )
    update campaign
       set status = judged.status, fence = campaign.fence + 1, sent_at = case when judged.status = 'sent' then app_now() end,
           reason_code = judged.reason_code, updated_date = clock_timestamp()
      from judged where campaign.id = judged.id
    returning campaign.id`);
  return rows.map(({ id }) => id);
}
