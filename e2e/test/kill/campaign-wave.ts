import { createLineOa, createOrganization } from '@dueline/accounts';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Stack } from '@dueline/demo';
import { type ChannelConfig, nthUserId } from '@dueline/line-simulator';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import type { Planned } from '@dueline/stress';

/** Two chunks. */
const FRIENDS = 620;
const WAVES = 50;
const prefixOf = (wave: number): string => `cb${wave.toString(16).padStart(2, '0')}`;

/** An account for each wave, because a broadcast reaches all friends of its account. */
export const CAMPAIGN_CHANNELS: readonly ChannelConfig[] = Array.from({ length: WAVES }, (_, wave) => ({
  channelId: String(3_000_001_000 + wave),
  channelAccessToken: `kill-token-${wave}`,
  users: [{ prefix: prefixOf(wave), count: FRIENDS }],
}));

/** A broadcast and a multicast to the friends of an account that had no campaign before, both due now. */
export async function writeCampaigns(
  { database: { db }, secretsKey }: Pick<Stack, 'database' | 'secretsKey'>,
  wave: number,
): Promise<Planned[]> {
  const channel = CAMPAIGN_CHANNELS[wave];
  if (channel === undefined) throw new Error(`there are accounts for ${WAVES} waves of campaigns`);
  const { channelId, channelAccessToken } = channel;
  const organizationId = await createOrganization(db, { name: `kill ${wave}` });
  const account = { organizationId, channelId, channelAccessToken, name: 'kill', timezone: 'Asia/Bangkok', secretsKey };
  const tenant = await createLineOa(db, account);
  const userIds = Array.from({ length: FRIENDS }, (_, n) => nthUserId(prefixOf(wave), n));
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [organizationId, tenant.lineOaId, userIds],
  );
  const audienceId = await createAudience(db, tenant, { name: 'everybody' });
  await addAudienceMembers(db, tenant, { audienceId, userIds });
  await dueCampaign(db, tenant, { text: 'hello all [[lid:broadcast]]' });
  await dueCampaign(db, tenant, { text: 'hello you [[lid:multicast]]', audienceId });
  return userIds.flatMap((user) => ['broadcast', 'multicast'].map((lid) => ({ user, lid })));
}
