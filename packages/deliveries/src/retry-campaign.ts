import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { DELIVER_WITHIN_HOURS } from './insert.ts';
import { planInNextEpoch } from './new-epoch.ts';

/** How a request of a campaign ended that did not reach everybody it should. */
export type FailedStatus = 'refused' | 'expired' | 'unknown';

/** A request of a campaign that is planned anew, and how it had ended. */
export interface RetriedRequest {
  readonly id: string;
  readonly before: FailedStatus;
}

/**
 * refused, expired or unknown -> planned in a new epoch for the requests of a campaign that ended so, other than by naming one person whom
 * LINE does not take. Who names `unknown` accepts that some get it twice. In id order.
 *
 * @param options.deliverUntil Instant after which they are not worth sending; null: a day from now.
 */
export async function retryCampaignDeliveries(
  tx: Tx,
  { organizationId, lineOaId }: Tenant,
  options: { campaignId: string; statuses: readonly FailedStatus[]; deliverUntil: string | null },
): Promise<RetriedRequest[]> {
  const { rows } = await tx.execute<{ id: string; before: FailedStatus }>(sql`
    select id, status as before from delivery
     where campaign_id = ${options.campaignId} and organization_id = ${organizationId} and line_oa_id = ${lineOaId}
       and status = any(${column(options.statuses, 'text')}) and reason_code is distinct from 'invalid_recipient'
     order by id
       for no key update`);
  const ids = column(
    rows.map(({ id }) => id),
    'bigint',
  );
  await planInNextEpoch(tx, { which: sql`delivery.id = any(${ids})`, limit: rows.length, skipLocked: false });
  await tx.execute(sql`
    update delivery set deliver_until = coalesce(${options.deliverUntil}::timestamptz, app_now() + make_interval(hours => ${DELIVER_WITHIN_HOURS}))
     where id = any(${ids})`);
  return rows;
}

/** The requests of a campaign of which nobody can learn any more whether LINE took them, in id order. */
export async function listUnknownOfCampaign(
  tx: Tx,
  { organizationId, lineOaId }: Tenant,
  { campaignId }: { campaignId: string },
): Promise<string[]> {
  const { rows } = await tx.execute<{ id: string }>(sql`
    select id from delivery
     where campaign_id = ${campaignId} and organization_id = ${organizationId} and line_oa_id = ${lineOaId} and status = 'unknown' order by id`);
  return rows.map(({ id }) => id);
}
