import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { startsInSeconds } from './chunk-times.ts';
import { DELIVER_WITHIN_HOURS } from './insert.ts';

/**
 * Spreads the chunks of a multicast of which nothing has left anew from this moment on, at so many people a minute (null: as fast as LINE allows), and
 * begins its pace anew; how many those are. Waiting makes none of them too late, unless the campaign has a last instant. What is at LINE, in doubt
 * or a part of a chunk keeps its time. The caller holds the campaign, so that none of them starts meanwhile. Locks the pace, then the rows in id order.
 */
export async function repaceChunks(
  tx: Tx,
  { organizationId, lineOaId }: Tenant,
  { campaignId, maxPerMinute }: { campaignId: string; maxPerMinute: number | null },
): Promise<number> {
  await tx.execute(sql`
    insert into campaign_pace (campaign_id, organization_id, line_oa_id) values (${campaignId}, ${organizationId}, ${lineOaId})
        on conflict (campaign_id) do update set next_at = excluded.next_at, back_at = excluded.back_at, granted_keys = excluded.granted_keys`);
  const { rows } = await tx.execute<{ id: string }>(sql`
    select id from delivery
     where campaign_id = ${campaignId} and organization_id = ${organizationId} and line_oa_id = ${lineOaId}
       and status = 'planned' and endpoint = 'multicast' and split_path = '' and first_attempt_at is null
     order by id
       for no key update`);
  const ids = column(
    rows.map(({ id }) => id),
    'bigint',
  );
  const seconds = column(
    rows.map((_, n) => startsInSeconds(n, maxPerMinute)),
    'float8',
  );
  await tx.execute(sql`
    update delivery
       set next_attempt_at = app_now() + make_interval(secs => spread.seconds), published_at = null, announce_count = 0,
           deliver_until = case when campaign.not_after is null
             then greatest(delivery.deliver_until, app_now() + make_interval(secs => spread.seconds, hours => ${DELIVER_WITHIN_HOURS}))
             else delivery.deliver_until end,
           updated_date = clock_timestamp()
      from campaign, unnest(${ids}, ${seconds}) as spread (id, seconds)
     where delivery.id = spread.id and campaign.id = delivery.campaign_id`);
  return rows.length;
}
