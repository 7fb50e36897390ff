import {
  createLineOa,
  createOrganization,
  resumeAccount,
  stopAccount,
  storeChannelCredentials,
} from '@dueline/accounts';
import { createCampaign } from '@dueline/campaigns';
import { scheduleAsSeen } from '@dueline/campaigns/testing';
import { CAST_TYPE, type Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import type { Stack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { type ChannelConfig, nthUserId } from '@dueline/line-simulator';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { createRule } from '@dueline/trigger-rules';
import type { Planned } from '../history.ts';
import { MENU, registerMenu } from './menus.ts';
import { AUDIENCE_SIZE, type ChaosPlan, type PlannedCampaign, PREFIXES } from './plan.ts';

const FRIENDS = 300;
/** What a rule sends, by its mark, and how many seconds after the change. */
const RULES = { now: 0, soon: 1, later: 4 } as const;

type Part = keyof typeof PREFIXES;
const CHANNEL_IDS: Readonly<Record<Part, string>> = {
  ...{ rules: '3200000000', multicast: '3200000001', broadcast: '3200000002' },
};
export const RULES_CHANNEL = CHANNEL_IDS.rules;

const tokenOf = (part: Part): string => `chaos-token-${part}`;
export const AUDIENCE_TOKEN = tokenOf('multicast');

/** An account for each kind of work, as LINE knows them. */
export const channelsFor = ({ users }: Pick<ChaosPlan, 'users'>): ChannelConfig[] => {
  const counts: Readonly<Record<Part, number>> = { rules: users, multicast: AUDIENCE_SIZE, broadcast: FRIENDS };
  return (Object.keys(PREFIXES) as Part[]).map((part) => ({
    channelId: CHANNEL_IDS[part],
    channelAccessToken: tokenOf(part),
    name: 'chaos',
    users: [{ prefix: PREFIXES[part], count: counts[part] }],
    ...(part === 'multicast' && { richMenuIds: [MENU] }),
  }));
};

/** Work for a Dueline, and whom it is to reach. */
export interface Stage {
  /** Everybody who is to be told something, as long as nothing keeps it from them; `*` for all friends. */
  readonly planned: readonly (Planned & { readonly channelId: string })[];
  /** Changes an attribute of people who were in no wave before. */
  wave(wave: ChaosPlan['waves'][number]): Promise<void>;
  /** The same for people of the audience, whose menus are switched then. */
  crowd(crowd: ChaosPlan['crowds'][number]): Promise<void>;
  /** A campaign that is due at once. */
  campaign(campaign: PlannedCampaign): Promise<void>;
  /** The emergency stop of the account of the rules, and its end. */
  pause(pause: ChaosPlan['pauses'][number], interrupted: AbortSignal): Promise<void>;
}

/** Accounts (one of which has LINE issue its tokens), rules, people and an audience, as their owners would have created them. */
export async function setStage(stack: Pick<Stack, 'database' | 'secretsKey'>, plan: ChaosPlan): Promise<Stage> {
  const { db } = stack.database;
  const tenants = new Map<string, Tenant>();
  for (const { channelId, channelAccessToken } of channelsFor(plan)) {
    const organizationId = await createOrganization(db, { name: `chaos ${channelId}` });
    const { secretsKey } = stack;
    const account = { organizationId, channelId, channelAccessToken, name: 'chaos', timezone: 'Asia/Bangkok' };
    const tenant = await createLineOa(db, { ...account, secretsKey });
    tenants.set(channelId, tenant);
    if (channelId !== CHANNEL_IDS.multicast) continue;
    const credentials = { kind: 'stateless' as const, channelSecret: `secret-of-${channelId}` };
    await inTransaction(db, (tx) =>
      storeChannelCredentials(tx, tenant, { credentials, secretsKey, by: 'chaos', reason: null }),
    );
  }
  const tenantOf = (part: Part): Tenant => {
    const tenant = tenants.get(CHANNEL_IDS[part]);
    if (tenant === undefined) throw new Error(`there is no account for ${part}`);
    return tenant;
  };
  for (const [lid, seconds] of Object.entries(RULES)) await createRule(db, tenantOf('rules'), rule(lid, seconds));
  await createRule(db, tenantOf('multicast'), menuRule(await registerMenu(db, tenantOf('multicast'))));
  await seedUsers(stack, tenantOf('rules'), usersOf('rules', plan.users));
  const audience = usersOf('multicast', AUDIENCE_SIZE);
  await seedUsers(stack, tenantOf('multicast'), audience);
  const audienceId = await createAudience(db, tenantOf('multicast'), { name: 'everybody' });
  await addAudienceMembers(db, tenantOf('multicast'), { audienceId, userIds: audience });

  const planned: (Planned & { channelId: string })[] = [];
  return {
    planned,
    crowd: ({ first, count }) => moveToOslo(db, usersOf('multicast', count, first)),
    wave: async ({ first, count }) => {
      const users = usersOf('rules', count, first);
      await moveToOslo(db, users);
      for (const user of users)
        for (const lid of Object.keys(RULES)) planned.push({ user, lid, channelId: RULES_CHANNEL });
    },
    campaign: async (campaign) => {
      const { castType } = campaign;
      const lid = await startCampaign(stack, tenantOf(castType), { campaign, audienceId });
      const people = castType === 'multicast' ? audience : ['*'];
      for (const user of people) planned.push({ user, lid, channelId: CHANNEL_IDS[castType] });
    },
    pause: async ({ forMs }, interrupted) => {
      const target = { lineOaId: tenantOf('rules').lineOaId };
      const signed = { by: 'chaos', reason: null };
      await inTransaction(db, (tx) => stopAccount(tx, target, signed));
      await sleep(forMs, interrupted);
      await inTransaction(db, (tx) => resumeAccount(tx, target, { ...signed, how: 'catch_up', count: 0 }));
    },
  };
}

async function moveToOslo(db: Db, users: readonly string[]): Promise<void> {
  await db.$client.query(`update line_user set attributes = '{"city": "Oslo"}' where user_id = any($1)`, [users]);
}

const usersOf = (part: Part, count: number, first = 0): string[] =>
  Array.from({ length: count }, (_, n) => nthUserId(PREFIXES[part], first + n));

const messagesOf = (lid: string) => [{ type: 'text' as const, text: `hello [[lid:${lid}]]` }];

const WHEN = {
  sourceType: 'attribute_changed' as const,
  sourceConfig: { attribute: 'city' },
  frequency: 'every_time' as const,
};

const rule = (lid: string, seconds: number) => ({
  ...{ ...WHEN, name: lid, actionType: 'send_message' as const },
  actionConfig: { messages: messagesOf(lid), ...(seconds === 0 ? {} : { delay: { seconds } }) },
});

const menuRule = (richMenuId: string) => ({
  ...{ ...WHEN, name: 'menu', actionType: 'switch_rich_menu' as const, actionConfig: { richMenuId } },
});

async function seedUsers(
  { database }: Pick<Stack, 'database'>,
  tenant: Tenant,
  users: readonly string[],
): Promise<void> {
  await database.db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, users],
  );
}

/** @returns Its mark. */
async function startCampaign(
  { database: { db } }: Pick<Stack, 'database'>,
  tenant: Tenant,
  { campaign: { n, castType }, audienceId }: { campaign: PlannedCampaign; audienceId: string },
): Promise<string> {
  const lid = `campaign-${n}`;
  const common = { name: lid, messages: messagesOf(lid) };
  const campaign = await createCampaign(
    db,
    tenant,
    castType === 'broadcast'
      ? { ...common, castType: CAST_TYPE.broadcast }
      : { ...common, castType: CAST_TYPE.multicast, audienceId },
  );
  const { rows } = await db.$client.query<{ now: string }>(
    `select to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as now`,
  );
  await scheduleAsSeen(db, tenant, { campaign, startDate: rows[0]?.now ?? '' });
  return lid;
}
