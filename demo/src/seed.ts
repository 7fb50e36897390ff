import { createLineOa, createOrganization } from '@dueline/accounts';
import { createCampaign } from '@dueline/campaigns';
import { CAST_TYPE, type Tenant, type Ticket } from '@dueline/contracts';
import type { ChannelConfig } from '@dueline/line-simulator';
import { createTrackedLink } from '@dueline/link-tracking';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { createRule } from '@dueline/trigger-rules';
import { usersOf } from './plan.ts';
import { type SourceCast, seedSources } from './seed-sources.ts';
import type { Stack } from './stack/stack.ts';
import { ACCOUNTS, type Account, ALL_ACCOUNTS, CAMPAIGNS, RULES, type StoryCampaign } from './story.ts';
import { WAITING_RULES } from './waiting-story.ts';

export const tokenOf = ({ channelId }: Account): string => `demo-token-${channelId}`;

/** The accounts as LINE knows them. */
export const channels: readonly ChannelConfig[] = ALL_ACCOUNTS.map((account) => ({
  channelId: account.channelId,
  channelAccessToken: tokenOf(account),
  name: account.name,
  users: [{ prefix: account.userPrefix, count: account.userCount }],
}));

const LINK = { name: 'the new menu', url: 'https://example.com/menu' };

/** What the story refers to. */
export interface Cast {
  /** By channel id. */
  readonly tenants: ReadonlyMap<string, Tenant>;
  /** The message's mark by rule id. */
  readonly lidOfRule: ReadonlyMap<string, string>;
  /** The tracked link of each account of the acts, by channel id. */
  readonly links: ReadonlyMap<string, string>;
  /** By channel id. */
  readonly sources: ReadonlyMap<string, SourceCast>;
  /** Drafts. */
  readonly campaigns: ReadonlyMap<StoryCampaign, Ticket>;
}

/** Organizations, accounts, users, rules and drafts of campaigns, as their owners would have created them. */
export async function seed(stack: Pick<Stack, 'database' | 'secretsKey'>): Promise<Cast> {
  const tenants = new Map<string, Tenant>();
  const lidOfRule = new Map<string, string>();
  const links = new Map<string, string>();
  const sources = new Map<string, SourceCast>();
  for (const account of ACCOUNTS) {
    const tenant = await seedAccount(stack, account);
    tenants.set(account.channelId, tenant);
    await seedUsers(stack, tenant, account);
    links.set(account.channelId, await createTrackedLink(stack.database.db, tenant, LINK));
    for (const rule of WAITING_RULES) await createRule(stack.database.db, tenant, rule);
    sources.set(account.channelId, await seedSources(stack.database.db, tenant, account));
    for (const rule of RULES) {
      const [message] = rule.actionConfig.messages;
      const lid = /\[\[lid:(.+)\]\]/.exec(message?.text ?? '')?.[1];
      if (lid === undefined) throw new Error(`the message of "${rule.name}" is not marked`);
      lidOfRule.set(await createRule(stack.database.db, tenant, rule), lid);
    }
  }
  const campaigns = new Map<StoryCampaign, Ticket>();
  for (const campaign of CAMPAIGNS) {
    const tenant = await seedAccount(stack, campaign.account);
    tenants.set(campaign.account.channelId, tenant);
    campaigns.set(campaign, await seedCampaign(stack, tenant, campaign));
  }
  return { tenants, lidOfRule, links, sources, campaigns };
}

async function seedCampaign(
  stack: Pick<Stack, 'database'>,
  tenant: Tenant,
  { account, castType, lid, text }: StoryCampaign,
): Promise<Ticket> {
  const { db } = stack.database;
  const common = { name: lid, messages: [{ type: 'text' as const, text }] };
  if (castType === CAST_TYPE.broadcast) return createCampaign(db, tenant, { ...common, castType }); // LINE knows its friends
  const userIds = await seedUsers(stack, tenant, account);
  const audienceId = await createAudience(db, tenant, { name: 'everybody' });
  await addAudienceMembers(db, tenant, { audienceId, userIds });
  return createCampaign(db, tenant, { ...common, castType, audienceId });
}

async function seedAccount(
  { database, secretsKey }: Pick<Stack, 'database' | 'secretsKey'>,
  account: Account,
): Promise<Tenant> {
  const { db } = database;
  const organizationId = await createOrganization(db, {
    name: account.organization,
    defaultTimezone: account.timezone,
  });
  const { channelId, name, timezone } = account;
  return createLineOa(db, {
    organizationId,
    channelId,
    name,
    timezone,
    channelAccessToken: tokenOf(account),
    secretsKey,
  });
}

async function seedUsers({ database }: Pick<Stack, 'database'>, tenant: Tenant, account: Account): Promise<string[]> {
  const userIds = usersOf(account, { first: 0, count: account.userCount });
  await database.db.$client.query(
    `insert into line_user (organization_id, line_oa_id, user_id, display_name)
     select $1, $2, user_id, 'User ' || number from unnest($3::text[]) with ordinality as users (user_id, number)`,
    [tenant.organizationId, tenant.lineOaId, userIds],
  );
  return userIds;
}
