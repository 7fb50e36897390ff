import { createLineOa, createOrganization } from '@dueline/accounts';
import { createCampaign } from '@dueline/campaigns';
import { scheduleAsSeen } from '@dueline/campaigns/testing';
import type { Tenant, Ticket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { type ChannelConfig, nthUserId } from '@dueline/line-simulator';
import { createTrackedLink } from '@dueline/link-tracking';
import { addAudienceMembers, createAudience, createForm } from '@dueline/recipients';
import type { Planned } from '@dueline/stress';
import { createRule } from '@dueline/trigger-rules';

/** Seals the tokens in the dump: no secret, for they open the simulated LINE only. */
export const SECRETS_KEY = Buffer.alloc(32, 'no secret');

const PEOPLE = 600;
/** Three chunks. */
const AUDIENCE = 1_250;
const FRIENDS = 60;

/** An account whose rules are set off, one with a paced campaign, and two for campaigns at their time. */
export const CHANNELS = {
  rules: channel('4200000001', 'd1', PEOPLE),
  paced: channel('4200000002', 'd2', AUDIENCE),
  early: channel('4200000003', 'd3', FRIENDS),
  late: channel('4200000004', 'd4', FRIENDS),
} as const;
/** Leases in seconds, so that a death costs seconds. */
export const SETTINGS = {
  ...{ SECRETS_KEY: SECRETS_KEY.toString('base64'), INLINE_HEAD_START_MS: '0' },
  ...{ CLAIM_LEASE_SECONDS: '3', OUTBOX_LEASE_SECONDS: '3', LEASE_MARGIN_SECONDS: '2' },
  ...{ ATTEMPT_DEADLINE_SECONDS: '2', SETTLE_MARGIN_SECONDS: '1', REAP_INTERVAL_SECONDS: '0.5' },
  ...{ DELIVERY_ANNOUNCE_INTERVAL_SECONDS: '0.5', DELIVERY_ANNOUNCE_AGAIN_SECONDS: '1' },
  ...{ CAMPAIGN_STALE_SECONDS: '6', CAMPAIGN_CLOSE_INTERVAL_SECONDS: '0.5' },
};

type Part = keyof typeof CHANNELS;

function channel(channelId: string, prefix: string, count: number) {
  return { channelId, channelAccessToken: `token-${channelId}`, users: [{ prefix, count }] };
}

export const channels: readonly ChannelConfig[] = Object.values(CHANNELS);

const usersOf = (part: Part, first: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => nthUserId(CHANNELS[part].users[0]?.prefix ?? '', first + n));

const messagesOf = (lid: string) => [{ type: 'text' as const, text: `hello [[lid:${lid}]]` }];
export const plannedFor = (users: readonly string[], lids: readonly string[]): Planned[] =>
  users.flatMap((user) => lids.map((lid) => ({ user, lid })));

/** What a change of `city` leads to, and after how many seconds. */
const CITY = { now: 0, soon: 1, quarter: 900, hour: 3_600 } as const;
export const CITY_LIDS: readonly string[] = Object.keys(CITY);
/** Of these, what no test waits for. */
export const LATER_LIDS: readonly string[] = ['quarter', 'hour'];

type Draft = Parameters<typeof createRule>[2];

const onAttribute = (attribute: string, lid: string, delay?: object): Draft =>
  ({
    ...{ name: lid, sourceType: 'attribute_changed', sourceConfig: { attribute }, frequency: 'every_time' },
    ...{ actionType: 'send_message', actionConfig: { messages: messagesOf(lid), ...(delay && { delay }) } },
  }) as Draft;

const RULES: readonly Draft[] = [
  ...Object.entries(CITY).map(([lid, seconds]) => onAttribute('city', lid, seconds === 0 ? undefined : { seconds })),
  onAttribute('mood', 'mood'),
  onAttribute('invited', 'reward', {
    ...{ mode: 'waitForTracking', expiresSeconds: 3_600 },
    onExpired: { do: 'instead', messages: messagesOf('last-call') },
  }),
  ...(['form_submitted', 'booking_event', 'friend_track_event_inserted'] as const).map(
    (sourceType) => ({ ...onAttribute('', sourceType), sourceType, sourceConfig: {} }) as Draft,
  ),
  { ...onAttribute('', 'custom_event'), sourceType: 'custom_event', sourceConfig: { name: 'purchase' } } as Draft,
];

/** Minutes past nine at which a daily cycle is due, and whom it serves. */
export const MORNINGS = { nine: 0, half: 30 } as const;
const MORNING_FIRST = PEOPLE - 40;
const MORNING_PEOPLE = {
  nine: usersOf('rules', MORNING_FIRST, 20),
  half: usersOf('rules', MORNING_FIRST + 20, 20),
};

/** Who the story is about, as the database knows them. */
export interface Cast {
  readonly tenantOf: (part: Part) => Tenant;
  /** The next people of the account of the rules who were in nothing before. */
  readonly next: (count: number) => string[];
  /** How many that were, and how many are left. */
  readonly used: () => number;
  readonly left: () => number;
}

/** @param used People of the account of the rules who were in something before. */
export async function readCast(db: Db, used: number): Promise<Cast> {
  const { rows } = await db.$client.query<Tenant & { channelId: string }>(
    'select organization_id::text as "organizationId", id::text as "lineOaId", channel_id as "channelId" from line_oa',
  );
  let first = used;
  return {
    used: () => first,
    left: () => MORNING_FIRST - first,
    tenantOf: (part) => {
      const found = rows.find(({ channelId }) => channelId === CHANNELS[part].channelId);
      if (found === undefined) throw new Error(`there is no account for ${part}`);
      return { organizationId: found.organizationId, lineOaId: found.lineOaId };
    },
    next: (count) => {
      if (first + count > MORNING_FIRST) throw new Error('everybody has been in something');
      first += count;
      return usersOf('rules', first - count, count);
    },
  };
}

/** Accounts, people and rules, as their owners would have created them. */
export async function seed(db: Db): Promise<Cast> {
  for (const { channelId, channelAccessToken, users } of Object.values(CHANNELS)) {
    const organizationId = await createOrganization(db, { name: `upgrade ${channelId}` });
    const account = { organizationId, channelId, channelAccessToken, name: 'upgrade', timezone: 'UTC' };
    const { lineOaId } = await createLineOa(db, { ...account, secretsKey: SECRETS_KEY });
    await db.$client.query(
      'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
      [
        organizationId,
        lineOaId,
        users.flatMap(({ prefix, count }) => Array.from({ length: count }, (_, n) => nthUserId(prefix, n))),
      ],
    );
  }
  const cast = await readCast(db, 0);
  const tenant = cast.tenantOf('rules');
  await createForm(db, tenant, { name: 'how was it?' });
  await createTrackedLink(db, tenant, { name: 'the menu', url: 'https://example.com/menu' });
  for (const rule of RULES) await createRule(db, tenant, rule);
  return cast;
}

/** The daily cycles; their first is that of the next morning. */
export async function seedMornings(db: Db, { tenantOf }: Cast): Promise<void> {
  const tenant = tenantOf('rules');
  for (const [name, minute] of Object.entries(MORNINGS)) {
    const userIds = MORNING_PEOPLE[name as keyof typeof MORNINGS];
    const audienceId = await createAudience(db, tenant, { name });
    await addAudienceMembers(db, tenant, { audienceId, userIds });
    await createRule(db, tenant, {
      ...onAttribute('', `morning-${name}`),
      ...{ sourceType: 'scheduled_time', sourceConfig: { cron: `${minute} 9 * * *`, audienceId } },
    } as Draft);
  }
}

export const plannedMorning = (name: keyof typeof MORNINGS): Planned[] =>
  plannedFor(MORNING_PEOPLE[name], [`morning-${name}`]);

/** Changes an attribute of these people, as any service would. */
export async function change(db: Db, users: readonly string[], attributes: object): Promise<void> {
  await db.$client.query('update line_user set attributes = attributes || $1 where user_id = any($2)', [
    JSON.stringify(attributes),
    users,
  ]);
}

const FACTS: Readonly<Record<string, string>> = {
  form_submitted: `insert into form_submission (organization_id, line_oa_id, form_id, user_id, idempotency_key)
    select $1, $2, (select min(id) from form), user_id, gen_random_uuid() from unnest($3::text[]) as user_id`,
  friend_track_event_inserted: `insert into friend_track_event (organization_id, line_oa_id, user_id, type, webhook_event_id)
    select $1, $2, user_id, 'follow', gen_random_uuid() from unnest($3::text[]) as user_id`,
  booking_event: `with booked as (
      insert into booking (organization_id, line_oa_id, user_id, name, starts_at)
      select $1, $2, user_id, 'a table', app_now() + interval '7 days' from unnest($3::text[]) as user_id returning id, user_id)
    insert into booking_event (organization_id, line_oa_id, booking_id, user_id, type, idempotency_key)
    select $1, $2, id, user_id, 'created', gen_random_uuid() from booked`,
  custom_event: `insert into custom_event (organization_id, line_oa_id, user_id, name, payload, idempotency_key)
    select $1, $2, user_id, 'purchase', '{"amount": 1500}', gen_random_uuid() from unnest($3::text[]) as user_id`,
};
export const FACT_LIDS: readonly string[] = Object.keys(FACTS);

/** One fact of each kind about these people: each is to get a message for each. */
export async function happen(db: Db, tenant: Tenant, users: readonly string[]): Promise<void> {
  for (const statement of Object.values(FACTS))
    await db.$client.query(statement, [tenant.organizationId, tenant.lineOaId, users]);
}

/** These people click, which ends their wait for it. */
export async function click(db: Db, tenant: Tenant, users: readonly string[]): Promise<void> {
  await db.$client.query(
    `insert into link_click (organization_id, line_oa_id, tracked_link_id, user_id, idempotency_key)
     select $1, $2, (select min(id) from tracked_link), user_id, gen_random_uuid() from unnest($3::text[]) as user_id`,
    [tenant.organizationId, tenant.lineOaId, users],
  );
}

interface CampaignOptions {
  readonly lid: string;
  readonly inSeconds: number;
  readonly audienceId?: string;
  /** Called while it may still be changed. */
  readonly adjust?: (campaign: Ticket) => Promise<void>;
}

/** A campaign to all friends of an account, or to an audience of it, at its time. @returns Who is to get it. */
export async function campaign(
  db: Db,
  { tenantOf }: Cast,
  { part, ...options }: CampaignOptions & { part: Exclude<Part, 'rules'> },
): Promise<Planned[]> {
  const { lid, inSeconds, audienceId, adjust } = options;
  const common = { name: lid, messages: messagesOf(lid) };
  const draft = await createCampaign(
    db,
    tenantOf(part),
    audienceId === undefined ? { ...common, castType: 'broadcast' } : { ...common, castType: 'multicast', audienceId },
  );
  await adjust?.(draft);
  const { rows } = await db.$client.query<{ at: string }>(
    `select to_char((app_now() + make_interval(secs => $1)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at`,
    [inSeconds],
  );
  await scheduleAsSeen(db, tenantOf(part), { campaign: draft, startDate: rows[0]?.at ?? '' });
  return plannedForAll(part, lid);
}

/** All friends of an account get this. */
export const plannedForAll = (part: Exclude<Part, 'rules'>, lid: string): Planned[] =>
  plannedFor(usersOf(part, 0, CHANNELS[part].users[0]?.count ?? 0), [lid]);
