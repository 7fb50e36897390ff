import { CAST_TYPE, type CampaignTicket } from '@dueline/contracts';
import { type Db, sql, type Tx } from '@dueline/db';
import type { Campaign, CampaignChunk } from './campaign.ts';
import { checkStart, needsPerson } from './check-start.ts';
import { freezeBroadcast, freezeMulticast } from './freeze.ts';
import { CAMPAIGN_COLUMNS, type CampaignRow, parseCampaign } from './row.ts';

/**
 * The campaign of a ticket, locked: only as long as it is `sending` under exactly this fence, of this tenant, and not deleted.
 * Undefined: it was started, taken back, cancelled or finished; the ticket is to be discarded quietly.
 */
export async function getCampaignAndValidate(tx: Tx, ticket: CampaignTicket): Promise<Campaign | undefined> {
  const { rows } = await tx.execute<CampaignRow>(sql`
    select ${CAMPAIGN_COLUMNS}
      from campaign
     where id = ${ticket.campaignId} and fence = ${ticket.fence} and status = 'sending' and deleted_date is null
       and organization_id = ${ticket.organizationId} and line_oa_id = ${ticket.lineOaId}
       for no key update`);
  const [row] = rows;
  return row === undefined ? undefined : parseCampaign(row);
}

/** Whether a ticket stands for a campaign whose recipients are to be frozen: what is known of its month matters then. */
export async function isToFreeze(db: Db, { campaignId, fence }: CampaignTicket): Promise<boolean> {
  const { rowCount } = await db.execute(sql`
    select from campaign where id = ${campaignId} and fence = ${fence} and status = 'sending' and frozen_at is null`);
  return rowCount === 1;
}

/** What became of a start. */
export type CampaignStart = 'frozen' | 'resumed' | 'needs_attention';

export interface StartOptions {
  /** Instance name and boot id of the process. */
  readonly claimedBy: string;
  /** Plans the requests of these chunks, in the same transaction. */
  readonly planChunks: (tx: Tx, campaign: Campaign, chunks: readonly CampaignChunk[]) => Promise<void>;
}

/**
 * sending -> sending: the claim becomes a start, under a new fence, so that a second ticket of the same claim starts nothing.
 * Freezes the recipients in chunks unless they were frozen before (`resumed`: their deliveries exist). Whoever joins later is not
 * reached; whoever has blocked the account or was left out by then is not either. Nothing is frozen, and a person is asked
 * (`needs_attention`), when there are more people than the author confirmed (`more_than_confirmed`), or when what LINE told of the month
 * is less than they need (`quota_short`); what was counted is in `start_check`.
 */
export async function startCampaign(
  tx: Tx,
  campaign: Campaign,
  { claimedBy, planChunks }: StartOptions,
): Promise<CampaignStart> {
  const check = campaign.isFrozen ? undefined : await checkStart(tx, campaign);
  const reason = check && needsPerson(campaign, check);
  await tx.execute(sql`
    update campaign
       set status = ${reason === undefined ? 'sending' : 'needs_attention'}, fence = fence + 1, reason_code = ${reason ?? null},
           start_check = coalesce(${check === undefined ? null : JSON.stringify(check)}::jsonb, start_check),
           claimed_at = clock_timestamp(), claimed_by = ${claimedBy}, updated_date = clock_timestamp()
     where id = ${campaign.id}`);
  if (reason !== undefined) return 'needs_attention';
  if (campaign.isFrozen) return 'resumed';
  const plan = (chunks: readonly CampaignChunk[]) => planChunks(tx, campaign, chunks);
  const count =
    campaign.castType === CAST_TYPE.broadcast
      ? await freezeBroadcast(tx, campaign, plan)
      : await freezeMulticast(tx, campaign, plan);
  await tx.execute(
    sql`update campaign set frozen_at = app_now(), planned_count = ${count}, updated_date = clock_timestamp() where id = ${campaign.id}`,
  );
  return 'frozen';
}
