import { createLineOa, createOrganization } from '@dueline/accounts';
import { createCampaign } from '@dueline/campaigns';
import { scheduleAsSeen } from '@dueline/campaigns/testing';
import type { Tenant, Ticket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import type { Stack } from '@dueline/demo';
import { type ChannelConfig, nthUserId } from '@dueline/line-simulator';
import { createAudience } from '@dueline/recipients';
import { type CampaignPlan, type PlannedCampaign, PREFIXES, TOWN } from './plan.ts';

type Place = keyof typeof PREFIXES;
export const CHANNEL_IDS: Readonly<Record<Place, string>> = { crowd: '3300000000', town: '3300000001' };

export const peopleIn = ({ recipients }: Pick<CampaignPlan, 'recipients'>): Readonly<Record<Place, number>> => ({
  crowd: recipients,
  town: TOWN,
});

/** An account for each place, as LINE knows them. */
export const channelsFor = (plan: Pick<CampaignPlan, 'recipients'>): ChannelConfig[] =>
  (Object.keys(PREFIXES) as Place[]).map((place) => ({
    channelId: CHANNEL_IDS[place],
    channelAccessToken: `campaign-token-${place}`,
    name: place,
    users: [{ prefix: PREFIXES[place], count: peopleIn(plan)[place] }],
  }));

/** A campaign that was scheduled. */
export interface StagedCampaign extends PlannedCampaign {
  readonly tenant: Tenant;
  readonly ticket: Ticket;
}

/** Work for a Dueline. */
export interface Stage {
  readonly tenants: readonly Tenant[];
  /** Those that were scheduled so far, in their order. */
  readonly campaigns: readonly StagedCampaign[];
  /** Writes a campaign that is due at once. */
  schedule(campaign: PlannedCampaign): Promise<void>;
}

/** Accounts, people and audiences, as their owners would have created them. */
export async function setStage(stack: Pick<Stack, 'database' | 'secretsKey'>, plan: CampaignPlan): Promise<Stage> {
  const { db } = stack.database;
  const places = new Map<Place, { tenant: Tenant; audienceId: string }>();
  for (const place of Object.keys(PREFIXES) as Place[]) {
    const organizationId = await createOrganization(db, { name: place });
    const tenant = await createLineOa(db, {
      ...{ organizationId, channelId: CHANNEL_IDS[place], channelAccessToken: `campaign-token-${place}`, name: place },
      ...{ timezone: 'Asia/Bangkok', secretsKey: stack.secretsKey },
    });
    const audienceId = await createAudience(db, tenant, { name: 'everybody' });
    await populate(db, { tenant, audienceId, prefix: PREFIXES[place], count: peopleIn(plan)[place] });
    places.set(place, { tenant, audienceId });
  }
  const campaigns: StagedCampaign[] = [];
  return {
    campaigns,
    tenants: [...places.values()].map(({ tenant }) => tenant),
    schedule: async (planned) => {
      const place = places.get(planned.to);
      if (place === undefined) throw new Error(`nobody lives in ${planned.to}`);
      campaigns.push({ ...planned, tenant: place.tenant, ticket: await writeCampaign(db, planned, place) });
    },
  };
}

/**
 * So many people of an account and members of an audience, in two statements. Where the role may, without the triggers that look at each
 * row (what is written fits by its making): a million takes seconds.
 */
async function populate(
  db: Db,
  { tenant, audienceId, prefix, count }: { tenant: Tenant; audienceId: string; prefix: string; count: number },
): Promise<void> {
  const head = nthUserId(prefix, 0).slice(0, -8);
  const people = `select $1::bigint, $2::bigint, $3 || lpad(to_hex(n), 8, '0') from generate_series(0, $4::int - 1) as n`;
  const values = [tenant.organizationId, tenant.lineOaId, head, count];
  const client = await db.$client.connect();
  try {
    await client.query('begin');
    await client.query(
      `select set_config('session_replication_role', 'replica', true) from pg_roles where rolname = current_user and rolsuper`,
    );
    await client.query(`insert into line_user (organization_id, line_oa_id, user_id) ${people}`, values);
    await client.query(
      `insert into audience_member (audience_id, organization_id, line_oa_id, user_id)
       select $5::bigint, person.* from (${people}) as person`,
      [...values, audienceId],
    );
    await client.query('analyze line_user, audience_member');
    await client.query('commit');
  } finally {
    client.release();
  }
}

async function writeCampaign(
  db: Db,
  { lid, castType }: PlannedCampaign,
  { tenant, audienceId }: { tenant: Tenant; audienceId: string },
): Promise<Ticket> {
  const common = { name: lid, messages: [{ type: 'text' as const, text: `hello [[lid:${lid}]]` }] };
  const draft = await createCampaign(
    db,
    tenant,
    castType === 'broadcast' ? { ...common, castType } : { ...common, castType, audienceId },
  );
  const { rows } = await db.$client.query<{ now: string }>(
    `select to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as now`,
  );
  return scheduleAsSeen(db, tenant, { campaign: draft, startDate: rows[0]?.now ?? '' });
}
