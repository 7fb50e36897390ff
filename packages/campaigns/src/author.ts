import type { Tenant, Ticket } from '@dueline/contracts';
import { column, type Db, errorCode, inTenant, type SQL, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';
import { type CampaignDraft, campaignDraft, parse, reachedBy, refuseUnknownAudiences } from './definition.ts';
import { confirmPreview } from './preview.ts';

export const instant = z.iso.datetime({ offset: true });

const campaignSchedule = z
  .strictObject({
    /** When the sending starts; RFC 3339. */
    startDate: instant,
    /** A campaign that has not started by then fails, and a chunk that was not sent by then expires; RFC 3339. */
    notAfter: instant.optional(),
    /** It starts although LINE says that the month has too few messages for it. */
    ignoresQuota: z.boolean().optional(),
  })
  .refine(({ startDate, notAfter }) => notAfter === undefined || Date.parse(notAfter) > Date.parse(startDate), {
    path: ['notAfter'],
    error: 'must be later than startDate',
  });

/** When a campaign starts, and what it must not become. */
export type CampaignSchedule = z.input<typeof campaignSchedule>;

/**
 * Creates a draft and returns its ticket.
 *
 * @throws PermanentError whose message names the first wrong field, or the audience that is not one of this account.
 */
export async function createCampaign(db: Db, tenant: Tenant, draft: CampaignDraft): Promise<Ticket> {
  const campaign = parse('campaign', campaignDraft, draft);
  const { audienceId, excludedAudienceIds, excludedUserIds } = reachedBy(campaign);
  try {
    return await inTenant(db, tenant, async (tx) => {
      await refuseUnknownAudiences(tx, excludedAudienceIds);
      const created = await ticketOf(
        tx,
        sql`insert into campaign (organization_id, line_oa_id, name, cast_type, audience_id, excluded_audience_ids, excluded_user_ids, messages)
            values (${tenant.organizationId}, ${tenant.lineOaId}, ${campaign.name}, ${campaign.castType}, ${audienceId},
                    ${column(excludedAudienceIds, 'bigint')}, ${column(excludedUserIds, 'text')}, ${JSON.stringify(campaign.messages)})
            returning id, fence`,
      );
      if (created === undefined) throw new Error('insert returned no row');
      return created;
    });
  } catch (error) {
    if (errorCode(error) === '23503') throw new PermanentError('campaign is invalid at /audienceId: no such audience');
    throw error;
  }
}

/** What a person agreed to, and who it was. */
export interface Confirmed {
  /** Of the preview that the person saw. */
  readonly token: string;
  readonly by: string;
}

/**
 * draft, scheduled, or needs_attention before its start -> scheduled, under the fence that the person saw and with the token of its preview; returns the new ticket,
 * undefined when the campaign has moved on, is deleted, or its recipients are frozen. How many people were shown is kept: many more
 * at the start, and a person is asked again.
 *
 * @param on The pool, or a transaction as the tenant (`inTenant`).
 * @throws PermanentError whose message names the first wrong field, or says why the token confirms nothing, as {@link confirmPreview} does.
 */
export async function scheduleCampaign(
  on: Db | Tx,
  tenant: Tenant,
  { campaign, token, by, ...given }: CampaignSchedule & Confirmed & { campaign: Ticket },
): Promise<Ticket | undefined> {
  const { startDate, notAfter, ignoresQuota = false } = parse('schedule', campaignSchedule, given);
  const schedule = async (tx: Tx): Promise<Ticket | undefined> => {
    const confirmed = await confirmPreview(tx, { campaign, token, by });
    if (confirmed === undefined) return undefined;
    return ticketOf(
      tx,
      sql`update campaign
             set status = 'scheduled', fence = fence + 1, start_date = ${startDate}, not_after = ${notAfter ?? null},
                 confirmed_count = ${confirmed.people}, ignores_quota = ${ignoresQuota}, reason_code = null, updated_date = clock_timestamp()
           where id = ${campaign.id}
          returning id, fence`,
    );
  };
  return '$client' in on ? inTenant(on, tenant, schedule) : schedule(on);
}

const ticketOf = async (tx: Tx, statement: SQL): Promise<Ticket | undefined> =>
  (await tx.execute<{ id: string; fence: string }>(statement)).rows[0];
