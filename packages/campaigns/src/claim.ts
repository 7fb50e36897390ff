import type { CampaignTicket, CastType, Tenant } from '@dueline/contracts';
import { type Db, sql, type Tx } from '@dueline/db';
import { isClaimable } from './due.ts';

/** A campaign that this call claimed, and where its ticket goes. */
export interface ClaimedCampaign {
  readonly castType: CastType;
  /** How late it starts, in seconds of product time; undefined for one that was begun before and goes on. */
  readonly lateSeconds: number | undefined;
  readonly ticket: CampaignTicket;
}

type ClaimedRow = {
  id: string;
  fence: string;
  organization_id: string;
  line_oa_id: string;
  audience_id: string | null;
  cast_type: CastType;
  late: number | null;
};

/**
 * scheduled -> sending for up to `limit` campaigns whose time has come, oldest first; one that was frozen before goes on after
 * its `not_after` too, so that what LINE may have is settled. None of a stopped or paused account. Safe from any number of claimers at once: each campaign is
 * returned to one of them.
 */
export async function claimCampaigns(
  db: Db,
  { claimedBy, limit }: { claimedBy: string; limit: number },
): Promise<ClaimedCampaign[]> {
  const { rows } = await db.execute<ClaimedRow>(sql`
    with due as materialized (
      select id from campaign
       where status = 'scheduled' and start_date <= app_now() and deleted_date is null and ${isClaimable}
       order by start_date, id limit ${limit}
         for no key update skip locked
    )
    update campaign
       set status = 'sending', fence = campaign.fence + 1, claimed_at = clock_timestamp(), claimed_by = ${claimedBy},
           updated_date = clock_timestamp()
     where id = any(array(select id from due))
    returning id, fence, organization_id, line_oa_id, audience_id, cast_type,
              case when frozen_at is null then extract(epoch from app_now() - start_date)::float8 end as late`);
  return rows.map((row) => ({
    castType: row.cast_type,
    lateSeconds: row.late ?? undefined,
    ticket: {
      campaignId: row.id,
      audienceId: row.audience_id,
      organizationId: row.organization_id,
      lineOaId: row.line_oa_id,
      fence: row.fence,
    },
  }));
}

/**
 * sending -> scheduled for a claimed campaign whose ticket was not confirmed; a copy that arrived all the same is refused by
 * its fence. False: somebody started it, or took it back.
 */
export async function releaseCampaign(db: Db, { campaignId, fence }: CampaignTicket): Promise<boolean> {
  const { rowCount } = await db.execute(sql`
    update campaign set status = 'scheduled', fence = fence + 1, updated_date = clock_timestamp()
     where id = ${campaignId} and fence = ${fence} and status = 'sending'`);
  return rowCount === 1;
}

/** scheduled -> failed for campaigns that never started and whose `not_after` has passed. Returns which; at most 500. */
export async function failLateCampaigns(db: Db | Tx): Promise<(Tenant & { id: string })[]> {
  const { rows } = await db.execute<{ id: string; organizationId: string; lineOaId: string }>(sql`
    with late as materialized (
      select id from campaign
       where status = 'scheduled' and start_date <= app_now() and deleted_date is null
         and frozen_at is null and not_after <= app_now()
       order by id limit 500
         for no key update skip locked
    )
    update campaign set status = 'failed', fence = campaign.fence + 1, reason_code = 'too_late', updated_date = clock_timestamp()
      from late where campaign.id = late.id
    returning campaign.id, organization_id as "organizationId", line_oa_id as "lineOaId"`);
  return rows;
}
