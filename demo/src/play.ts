import { previewCampaign, scheduleCampaign } from '@dueline/campaigns';
import type { Db } from '@dueline/db';
import { sleep } from '@dueline/kernel';
import { usersOf } from './plan.ts';
import type { Cast } from './seed.ts';
import type { Stack } from './stack/stack.ts';
import { ACCOUNTS, ACTS, type Act, CAMPAIGNS, type Cause, type StoryCampaign } from './story.ts';

/** When each act began or campaign starts, by the database's clock, in milliseconds since the epoch, by channel id. */
export type CauseTimes = ReadonlyMap<Cause, ReadonlyMap<string, number>>;

/**
 * Schedules the campaigns and plays the acts at their times: each is one plain UPDATE per account, as any service would write
 * it.
 */
export async function play({
  database,
  cast,
  tell,
}: Pick<Stack, 'database'> & { cast: Cast; tell: (cause: Cause) => void }): Promise<CauseTimes> {
  const begin = performance.now();
  const times = new Map<Cause, Map<string, number>>();
  for (const campaign of CAMPAIGNS) {
    tell(campaign);
    times.set(campaign, new Map([[campaign.account.channelId, await schedule(database, cast, campaign)]]));
  }
  for (const act of ACTS) {
    await sleep(Math.max(0, act.atMs - (performance.now() - begin)));
    tell(act);
    times.set(act, await perform(database, cast, act));
  }
  return times;
}

/** When it starts, in milliseconds since the epoch. */
async function schedule(database: Stack['database'], cast: Cast, story: StoryCampaign): Promise<number> {
  const tenant = cast.tenants.get(story.account.channelId);
  const campaign = cast.campaigns.get(story);
  if (tenant === undefined || campaign === undefined) throw new Error(`${story.account.name} was not seeded`);
  const startMs = Math.ceil(await productNow(database.db)) + story.startSeconds * 1_000;
  const startDate = new Date(startMs).toISOString();
  const by = 'the demo';
  const { token = null } = (await previewCampaign(database.db, tenant, { campaign, by })) ?? {};
  if (token === null || (await scheduleCampaign(database.db, tenant, { campaign, startDate, token, by })) === undefined)
    throw new Error(`the campaign of ${story.account.name} was not a draft`);
  return startMs;
}

/** Changes the attributes of an act's users, as any service would. @returns when, by channel id. */
export async function perform(database: Stack['database'], cast: Cast, act: Act): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  for (const account of ACCOUNTS) {
    const tenant = cast.tenants.get(account.channelId);
    if (tenant === undefined) throw new Error(`${account.name} was not seeded`);
    times.set(account.channelId, await productNow(database.db));
    await database.db.$client.query(
      'update line_user set attributes = attributes || $3::jsonb where organization_id = $1 and line_oa_id = $2 and user_id = any($4)',
      [tenant.organizationId, tenant.lineOaId, JSON.stringify(act.set), usersOf(account, act.users)],
    );
  }
  return times;
}

/** Product time in milliseconds since the epoch. */
export async function productNow(db: Db): Promise<number> {
  const { rows } = await db.$client.query<{ at: string }>('select extract(epoch from app_now()) * 1000 as at');
  return Number(rows[0]?.at);
}
