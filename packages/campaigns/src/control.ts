import type { CampaignStatus, Tenant, Ticket } from '@dueline/contracts';
import { column, type SQL, sql, type Tx } from '@dueline/db';

/** Why a campaign was left as it is, and how that is said to a person. */
export const CAMPAIGN_REFUSALS = {
  not_found: 'the account has no such campaign',
  changed: 'it has changed since you looked: look again',
  wrong_status: 'its status does not allow it',
  stopping: 'it is being cancelled: what is on its way or in doubt is waited for',
  frozen: 'its recipients are written down: what it says, to whom and when cannot change any more',
  not_frozen: 'nobody was written down yet: confirm the count, reschedule or cancel it',
  too_late: 'its last instant has passed: name another one',
  nothing_to_retry: 'none of its requests failed, or nobody knows of them: say that duplicates are accepted',
} as const;
export type CampaignRefusal = keyof typeof CAMPAIGN_REFUSALS;

/** What became of what a person wants of a campaign. */
export type CampaignOutcome =
  | {
      readonly result: 'changed';
      /** What the next change names. */
      readonly campaign: Ticket;
      readonly before: CampaignStatus;
      readonly status: CampaignStatus;
      /** Requests at LINE at this moment: they go to their end, and no other one begins while the campaign is not `sending`. */
      readonly inFlight: number;
    }
  | {
      readonly result: 'refused';
      readonly refusal: CampaignRefusal;
      /** Null: the account has no such campaign. */
      readonly status: CampaignStatus | null;
    };

export interface HeldCampaign extends Ticket {
  readonly status: CampaignStatus;
  readonly isFrozen: boolean;
  readonly notAfter: string | null;
  readonly isTooLate: boolean;
  /** Product time. */
  readonly now: string;
}

type HeldRow = {
  id: string;
  fence: string;
  status: CampaignStatus;
  is_frozen: boolean;
  is_stopping: boolean;
  not_after: string | null;
  is_too_late: boolean;
  now: string;
};

/** What the campaign must be for a change. */
export interface Needs {
  readonly from: readonly CampaignStatus[];
  /** Whether its recipients must be written down, or must not be; either will do when not given. */
  readonly frozen?: boolean;
}

/**
 * The campaign under the fence that the person saw, locked: a chunk that starts at this moment has done so before, or finds what is changed.
 * Else why it is left as it is.
 */
export async function holdCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign, needs }: { campaign: Ticket; needs: Needs },
): Promise<HeldCampaign | Extract<CampaignOutcome, { result: 'refused' }>> {
  const { rows } = await tx.execute<HeldRow>(sql`
    select id, fence, status, frozen_at is not null as is_frozen, cancel_requested_at is not null as is_stopping,
           to_json(not_after) #>> '{}' as not_after, coalesce(not_after <= app_now(), false) as is_too_late,
           to_json(app_now()) #>> '{}' as now
      from campaign
     where id = ${campaign.id} and organization_id = ${tenant.organizationId} and line_oa_id = ${tenant.lineOaId} and deleted_date is null
       for no key update`);
  const [row] = rows;
  const refusal = refusalOf(row, campaign, needs);
  if (refusal !== undefined || row === undefined)
    return { result: 'refused', refusal: refusal ?? 'not_found', status: row?.status ?? null };
  const { id, fence, status, now } = row;
  return { id, fence, status, isFrozen: row.is_frozen, notAfter: row.not_after, isTooLate: row.is_too_late, now };
}

function refusalOf(row: HeldRow | undefined, { fence }: Ticket, { from, frozen }: Needs): CampaignRefusal | undefined {
  if (row === undefined) return 'not_found';
  if (row.fence !== fence) return 'changed';
  if (row.is_stopping && row.status !== 'cancel') return 'stopping';
  if (!from.includes(row.status)) return 'wrong_status';
  if (frozen === undefined || frozen === row.is_frozen) return undefined;
  return frozen ? 'not_frozen' : 'frozen';
}

export const isRefused = (
  held: HeldCampaign | CampaignOutcome,
): held is Extract<CampaignOutcome, { result: 'refused' }> => 'result' in held && held.result === 'refused';

/** Moves a campaign that is held, under a new fence. @param options.set Further columns, each `, name = value`. */
export async function moveCampaign(
  tx: Tx,
  { id, status: before }: HeldCampaign,
  { to, set = sql`` }: { to: CampaignStatus; set?: SQL },
): Promise<CampaignOutcome> {
  const { rows } = await tx.execute<{ fence: string }>(sql`
    update campaign set status = ${to}, fence = fence + 1, updated_date = clock_timestamp() ${set} where id = ${id} returning fence`);
  const campaign = { id, fence: rows[0]?.fence ?? '0' };
  return { result: 'changed', campaign, before, status: to, inFlight: await countInFlight(tx, [id]) };
}

async function countInFlight(tx: Tx, ids: readonly string[]): Promise<number> {
  const { rows } = await tx.execute<{ count: number }>(sql`
    select count(*)::int as count from delivery where campaign_id = any(${column(ids, 'bigint')}) and status = 'sending'`);
  return rows[0]?.count ?? 0;
}
