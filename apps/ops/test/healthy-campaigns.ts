import { claimCampaigns, getCampaignAndValidate, startCampaign } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, insertTenant, insertUsers } from '@dueline/db/testing';
import { createChunkDeliveries } from '@dueline/deliveries';
import { addAudienceMembers, createAudience } from '@dueline/recipients';

/** A broadcast and a multicast (of two chunks unless more people are asked for), started as line-delivery does; the account that they belong to. */
export async function startCampaigns(db: Db, people = 501): Promise<Tenant> {
  const tenant = await insertTenant(db);
  const userIds = await insertUsers(db, tenant, people);
  const audienceId = await createAudience(db, tenant, { name: 'everybody' });
  await addAudienceMembers(db, tenant, { audienceId, userIds });
  await dueCampaign(db, tenant);
  await dueCampaign(db, tenant, { audienceId });
  const [channelId = ''] = await columnOf(db, 'select channel_id from line_oa where id = $1', [tenant.lineOaId]);
  for (const { ticket } of await claimCampaigns(db, { claimedBy: 'dispatcher:1', limit: 10 })) {
    await inTransaction(db, async (tx) => {
      const campaign = await getCampaignAndValidate(tx, ticket);
      if (campaign === undefined) throw new Error('a claimed campaign was to be started');
      const { id, messages } = campaign;
      await startCampaign(tx, campaign, {
        claimedBy: 'line:1',
        planChunks: async (_tx, _campaign, chunks) => {
          const common = { ...tenant, channelId: String(channelId), campaignId: id, messages, deliverUntil: null };
          await createChunkDeliveries(
            tx,
            chunks.map((chunk) => ({ ...common, ...chunk })),
          );
        },
      });
    });
  }
  return tenant;
}
