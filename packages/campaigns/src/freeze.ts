import { MAX_RECIPIENTS_PER_CHUNK } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import type { Campaign, CampaignChunk } from './campaign.ts';
import { PEOPLE_PER_PAGE, recipients } from './recipients.ts';

type Plan = (chunks: readonly CampaignChunk[]) => Promise<void>;

/** Chunks that one statement freezes, so that an audience of any size needs little memory and no long statement. */
const CHUNKS_PER_PAGE = PEOPLE_PER_PAGE / MAX_RECIPIENTS_PER_CHUNK;

/** A broadcast is one chunk without user ids. */
export async function freezeBroadcast(tx: Tx, campaign: Campaign, plan: Plan): Promise<null> {
  await tx.execute(sql`
    insert into campaign_chunk (campaign_id, chunk_no, organization_id, line_oa_id)
    values (${campaign.id}, 0, ${campaign.organizationId}, ${campaign.lineOaId})`);
  await plan([{ chunkNo: 0, userIds: null }]);
  return null;
}

/**
 * Writes the audience down in chunks of 500 by user id, page by page. Each page begins behind the last id of the one before, so
 * nobody is in two chunks, whatever joins or leaves meanwhile. Returns how many people were frozen.
 */
export async function freezeMulticast(tx: Tx, campaign: Campaign, plan: Plan): Promise<number> {
  let count = 0;
  let after = '';
  for (let firstChunk = 0; ; firstChunk += CHUNKS_PER_PAGE) {
    const chunks = await freezePage(tx, campaign, { firstChunk, after });
    if (chunks.length > 0) await plan(chunks);
    count += chunks.reduce((sum, { userIds }) => sum + (userIds?.length ?? 0), 0);
    if (chunks.length < CHUNKS_PER_PAGE) return count;
    after = chunks.at(-1)?.userIds?.at(-1) ?? '';
  }
}

async function freezePage(
  tx: Tx,
  campaign: Campaign,
  { firstChunk, after }: { firstChunk: number; after: string },
): Promise<CampaignChunk[]> {
  const { rows } = await tx.execute<{ chunk_no: number; user_ids: string[] }>(sql`
    with page as materialized (
      ${recipients(campaign, after)}
    ), numbered as (
      select user_id, (row_number() over (order by user_id) - 1) / ${MAX_RECIPIENTS_PER_CHUNK}::int as place from page
    ), chunk as (
      select ${firstChunk}::int + place::int as chunk_no, array_agg(user_id order by user_id) as user_ids from numbered group by place
    ), frozen as (
      insert into campaign_chunk (campaign_id, chunk_no, organization_id, line_oa_id, user_ids, user_count)
      select ${campaign.id}, chunk_no, ${campaign.organizationId}, ${campaign.lineOaId}, user_ids, cardinality(user_ids) from chunk
      returning chunk_no, user_ids
    )
    select chunk_no, user_ids from frozen order by chunk_no`);
  return rows.map((row) => ({ chunkNo: row.chunk_no, userIds: row.user_ids }));
}
