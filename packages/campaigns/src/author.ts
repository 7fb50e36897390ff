import {
  bigintId,
  CAST_TYPE,
  isStorable,
  MAX_MESSAGES_PER_REQUEST,
  NOT_STORABLE,
  type Tenant,
  type Ticket,
  textMessage,
} from '@dueline/contracts';
import { type Db, errorCode, inTenant, type SQL, sql } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';

/** The fields of every campaign. */
export const common = {
  name: z.string().min(1).max(200).refine(isStorable, NOT_STORABLE),
  messages: z.array(textMessage).min(1).max(MAX_MESSAGES_PER_REQUEST),
};

const campaignDraft = z.discriminatedUnion('castType', [
  z.strictObject({ ...common, castType: z.literal(CAST_TYPE.broadcast) }),
  z.strictObject({ ...common, castType: z.literal(CAST_TYPE.multicast), audienceId: bigintId }),
]);

/** A campaign as a person writes it: to all friends of the account, or to an audience. */
export type CampaignDraft = z.input<typeof campaignDraft>;

export const instant = z.iso.datetime({ offset: true });

const campaignSchedule = z
  .strictObject({
    /** When the sending starts; RFC 3339. */
    startDate: instant,
    /** A campaign that has not started by then fails, and a chunk that was not sent by then expires; RFC 3339. */
    notAfter: instant.optional(),
    /** How many people the author agreed to reach: more of them at the start, and a person is asked again. */
    confirmedCount: z.int().min(1).max(2_147_483_647).optional(),
  })
  .refine(({ startDate, notAfter }) => notAfter === undefined || Date.parse(notAfter) > Date.parse(startDate), {
    path: ['notAfter'],
    error: 'must be later than startDate',
  });

/** When a campaign starts, and what it must not become. */
export type CampaignSchedule = z.input<typeof campaignSchedule>;

/** @throws PermanentError whose message names the first wrong field. */
export function parse<Schema extends z.ZodType>(what: string, schema: Schema, value: unknown): z.output<Schema> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new PermanentError(`${what} is invalid at /${issue?.path.join('/') ?? ''}: ${issue?.message ?? ''}`);
}

/**
 * Creates a draft and returns its ticket.
 *
 * @throws PermanentError whose message names the first wrong field, or says that the audience is not one of this account.
 */
export async function createCampaign(db: Db, tenant: Tenant, draft: CampaignDraft): Promise<Ticket> {
  const campaign = parse('campaign', campaignDraft, draft);
  const audienceId = campaign.castType === CAST_TYPE.multicast ? campaign.audienceId : null;
  try {
    const created = await asTenant(
      db,
      tenant,
      sql`insert into campaign (organization_id, line_oa_id, name, cast_type, audience_id, messages)
          values (${tenant.organizationId}, ${tenant.lineOaId}, ${campaign.name}, ${campaign.castType}, ${audienceId},
                  ${JSON.stringify(campaign.messages)})
          returning id, fence`,
    );
    if (created === undefined) throw new Error('insert returned no row');
    return created;
  } catch (error) {
    if (errorCode(error) === '23503') throw new PermanentError('campaign is invalid at /audienceId: no such audience');
    throw error;
  }
}

/**
 * draft or scheduled -> scheduled, under the fence that the person saw; returns the new ticket, undefined when the campaign
 * has moved on, is deleted, or its recipients are frozen.
 *
 * @throws PermanentError whose message names the first wrong field.
 */
export async function scheduleCampaign(
  db: Db,
  tenant: Tenant,
  { campaign, ...schedule }: CampaignSchedule & { campaign: Ticket },
): Promise<Ticket | undefined> {
  const { startDate, notAfter, confirmedCount } = parse('schedule', campaignSchedule, schedule);
  return asTenant(
    db,
    tenant,
    sql`update campaign
           set status = 'scheduled', fence = fence + 1, start_date = ${startDate}, not_after = ${notAfter ?? null},
               confirmed_count = ${confirmedCount ?? null}, updated_date = clock_timestamp()
         where id = ${campaign.id} and fence = ${campaign.fence} and status in ('draft', 'scheduled')
           and frozen_at is null and deleted_date is null
        returning id, fence`,
  );
}

const asTenant = (db: Db, tenant: Tenant, statement: SQL): Promise<Ticket | undefined> =>
  inTenant(db, tenant, async (tx) => (await tx.execute<{ id: string; fence: string }>(statement)).rows[0]);
