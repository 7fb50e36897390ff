import { createLineOa, createOrganization } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import type { Stack } from '@dueline/demo';
import { type ChannelConfig, nthUserId } from '@dueline/line-simulator';
import { createTrackedLink } from '@dueline/link-tracking';
import { ACCOUNT_COUNT, type PlannedAction } from './plan.ts';

/** An account that the work belongs to. */
export interface Account extends Tenant {
  /** The link whose click ends a wait. */
  readonly linkId: string;
}

const prefixOf = (account: number): string => `5${account}`;
const CITY = 'city';

/** What a checked action asks when it comes due. */
export const CONDITION = { attribute: CITY, to: 'Oslo' };

/** Every action is for somebody else, so that a message tells by its receiver whose it is. */
export const userOf = ({ account, n }: Pick<PlannedAction, 'account' | 'n'>): string => nthUserId(prefixOf(account), n);

/** The accounts as LINE knows them. */
export const channelsFor = (actions: number): ChannelConfig[] =>
  Array.from({ length: ACCOUNT_COUNT }, (_, account) => ({
    channelId: String(3_100_000_000 + account),
    channelAccessToken: `stress-token-${account}`,
    name: 'stress',
    users: [{ prefix: prefixOf(account), count: actions }],
  }));

/** The accounts and everybody that an action is for. */
export async function seedAccounts(
  { database: { db }, secretsKey }: Pick<Stack, 'database' | 'secretsKey'>,
  actions: readonly PlannedAction[],
): Promise<Account[]> {
  const accounts: Account[] = [];
  for (const [number, { channelId, channelAccessToken }] of channelsFor(actions.length).entries()) {
    const organizationId = await createOrganization(db, { name: `stress ${number}` });
    const account = {
      organizationId,
      channelId,
      channelAccessToken,
      name: 'stress',
      timezone: 'Asia/Bangkok',
      secretsKey,
    };
    const tenant = await createLineOa(db, account);
    const own = actions.filter((action) => action.account === number);
    await db.$client.query(
      `insert into line_user (organization_id, line_oa_id, user_id, attributes)
       select $1, $2, user_id, jsonb_build_object('${CITY}', city) from unnest($3::text[], $4::text[]) as person (user_id, city)`,
      [
        ...[tenant.organizationId, tenant.lineOaId],
        ...[own.map(userOf), own.map(({ holds }) => (holds ? CONDITION.to : 'Rome'))],
      ],
    );
    const linkId = await createTrackedLink(db, tenant, { name: 'stress', url: 'https://example.com/' });
    accounts.push({ ...tenant, linkId });
  }
  return accounts;
}
