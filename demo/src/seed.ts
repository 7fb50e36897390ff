import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import type { ChannelConfig } from '@dueline/line-simulator';
import { createRule } from '@dueline/trigger-rules';
import { usersOf } from './plan.ts';
import type { Stack } from './stack/stack.ts';
import { ACCOUNTS, type Account, RULES } from './story.ts';

export const tokenOf = ({ channelId }: Account): string => `demo-token-${channelId}`;

/** The accounts as LINE knows them. */
export const channels: readonly ChannelConfig[] = ACCOUNTS.map((account) => ({
  channelId: account.channelId,
  channelAccessToken: tokenOf(account),
  name: account.name,
  users: [{ prefix: account.userPrefix, count: account.userCount }],
}));

/** What the story refers to. */
export interface Cast {
  /** By channel id. */
  readonly tenants: ReadonlyMap<string, Tenant>;
  /** The message's mark by rule id. */
  readonly lidOfRule: ReadonlyMap<string, string>;
}

/** Organizations, accounts, users and rules, as their owners would have created them. */
export async function seed(stack: Pick<Stack, 'database' | 'secretsKey'>): Promise<Cast> {
  const tenants = new Map<string, Tenant>();
  const lidOfRule = new Map<string, string>();
  for (const account of ACCOUNTS) {
    const tenant = await seedAccount(stack, account);
    tenants.set(account.channelId, tenant);
    for (const rule of RULES) {
      const [message] = rule.actionConfig.messages;
      const lid = /\[\[lid:(.+)\]\]/.exec(message?.text ?? '')?.[1];
      if (lid === undefined) throw new Error(`the message of "${rule.name}" is not marked`);
      lidOfRule.set(await createRule(stack.database.db, tenant, rule), lid);
    }
  }
  return { tenants, lidOfRule };
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
  const tenant = await createLineOa(db, {
    organizationId,
    channelId,
    name,
    timezone,
    channelAccessToken: tokenOf(account),
    secretsKey,
  });
  await db.$client.query(
    `insert into line_user (organization_id, line_oa_id, user_id, display_name)
     select $1, $2, user_id, 'User ' || number from unnest($3::text[]) with ordinality as users (user_id, number)`,
    [tenant.organizationId, tenant.lineOaId, usersOf(account, { first: 0, count: account.userCount })],
  );
  return tenant;
}
