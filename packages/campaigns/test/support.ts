import type { CampaignTicket, Tenant } from '@dueline/contracts';
import { type Db, inTransaction, type Tx } from '@dueline/db';
import { columnOf, insertRow } from '@dueline/db/testing';
import {
  type Campaign,
  type CampaignChunk,
  claimCampaigns,
  getCampaignAndValidate,
  type StartOptions,
  startCampaign,
} from '../src/index.ts';

export async function insertAudience(db: Db, tenant: Tenant, userIds: readonly string[]): Promise<string> {
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId };
  const audience = await insertRow(db, 'audience', { ...base, name: 'audience' });
  await join(db, { audienceId: String(audience.id), userIds });
  return String(audience.id);
}

export const join = (db: Db, { audienceId, userIds }: { audienceId: string; userIds: readonly string[] }) =>
  db.$client.query(
    `insert into audience_member (audience_id, organization_id, line_oa_id, user_id)
     select id, organization_id, line_oa_id, unnest($2::text[]) from audience where id = $1`,
    [audienceId, userIds],
  );

/** Claims everything due; the tickets. */
export const claim = async (db: Db, claimedBy = 'dispatcher-1:boot'): Promise<CampaignTicket[]> =>
  (await claimCampaigns(db, { claimedBy, limit: 100 })).map(({ ticket }) => ticket);

export async function claimOne(db: Db): Promise<CampaignTicket> {
  const [ticket] = await claim(db);
  if (ticket === undefined) throw new Error('no campaign was due');
  return ticket;
}

/** A delivery per chunk, as the ledger's package would plan it. */
async function planChunks(tx: Tx, campaign: Campaign, chunks: readonly CampaignChunk[]): Promise<void> {
  for (const { chunkNo, userIds } of chunks) {
    const endpoint = userIds === null ? 'broadcast' : 'multicast';
    await tx.execute(`
      insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, ordinal, campaign_id, chunk_no, retry_key, body,
                            body_sha256, deliver_until)
      values (${campaign.organizationId}, ${campaign.lineOaId}, 'campaign', '${campaign.id}', '${endpoint}', ${chunkNo}, ${campaign.id},
              ${chunkNo}, gen_random_uuid(), '', '', app_now() + interval '1 day')`);
  }
}

/** Starts a ticket as line-delivery does; undefined when it does not fit. */
export const start = (db: Db, ticket: CampaignTicket, options: Partial<StartOptions> = {}) =>
  inTransaction(db, async (tx) => {
    const campaign = await getCampaignAndValidate(tx, ticket);
    return campaign && startCampaign(tx, campaign, { claimedBy: 'sender-1:boot', planChunks, ...options });
  });

/** Status, fence and reason of every campaign, in id order. */
export const states = (db: Db) =>
  columnOf(db, `select concat_ws(' ', status, fence, reason_code) from campaign order by id`);

/** Moves a chunk's delivery, past every package. */
export const moveChunk = (
  db: Db,
  {
    chunk,
    to,
    reason,
  }: { chunk: number; to: 'sending' | 'accepted' | 'refused' | 'unknown' | 'expired'; reason?: string | undefined },
) =>
  db.$client.query(
    `update delivery set status = $2, fence = fence + 1, accepted_at = case when $2 = 'accepted' then app_now() end, reason_code = $3,
            lease_until = case when $2 = 'sending' then clock_timestamp() + interval '1 minute' end
      where chunk_no = $1`,
    [chunk, to, reason ?? null],
  );
