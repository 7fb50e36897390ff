import { CAST_TYPE, type CampaignTicket, type CastType, type TextMessage } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import type { Campaign, CampaignChunk } from './campaign.ts';
import { countRecipients, freezeBroadcast, freezeMulticast } from './freeze.ts';

type CampaignRow = {
  id: string;
  organization_id: string;
  line_oa_id: string;
  cast_type: CastType;
  audience_id: string | null;
  messages: TextMessage[];
  not_after: string | null;
  confirmed_count: number | null;
  is_frozen: boolean;
};

/**
 * The campaign of a ticket, locked: only as long as it is `sending` under exactly this fence, of this tenant, and not deleted.
 * Undefined: it was started, taken back, cancelled or finished; the ticket is to be discarded quietly.
 */
export async function getCampaignAndValidate(tx: Tx, ticket: CampaignTicket): Promise<Campaign | undefined> {
  const { rows } = await tx.execute<CampaignRow>(sql`
    select id, organization_id, line_oa_id, cast_type, audience_id, messages, not_after, confirmed_count,
           frozen_at is not null as is_frozen
      from campaign
     where id = ${ticket.campaignId} and fence = ${ticket.fence} and status = 'sending' and deleted_date is null
       and organization_id = ${ticket.organizationId} and line_oa_id = ${ticket.lineOaId}
       for no key update`);
  const [row] = rows;
  return row === undefined ? undefined : parseCampaign(row);
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
 * Freezes the recipients in chunks unless they were frozen before (`resumed`: their deliveries exist). Whoever joins later is
 * not reached. More people than the author confirmed: nothing is frozen, `needs_attention`.
 */
export async function startCampaign(
  tx: Tx,
  campaign: Campaign,
  { claimedBy, planChunks }: StartOptions,
): Promise<CampaignStart> {
  const planned = campaign.isFrozen ? null : await countRecipients(tx, campaign);
  const tooMany = planned !== null && campaign.confirmedCount !== null && planned > campaign.confirmedCount;
  await tx.execute(sql`
    update campaign
       set status = ${tooMany ? 'needs_attention' : 'sending'}, fence = fence + 1,
           reason_code = ${tooMany ? 'more_than_confirmed' : null},
           claimed_at = clock_timestamp(), claimed_by = ${claimedBy}, updated_date = clock_timestamp()
     where id = ${campaign.id}`);
  if (tooMany) return 'needs_attention';
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

const parseCampaign = (row: CampaignRow): Campaign => ({
  id: row.id,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  castType: row.cast_type,
  audienceId: row.audience_id,
  messages: row.messages,
  notAfter: row.not_after,
  confirmedCount: row.confirmed_count,
  isFrozen: row.is_frozen,
});
