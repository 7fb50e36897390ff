import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';
import { DELIVER_WITHIN_HOURS } from './insert.ts';
import { planInNextEpoch } from './new-epoch.ts';
import { type DeliveryStatus, isFollowing } from './state.ts';

/** What became of a delivery that a person wants to be sent again, and what it was before; null: the account has none of this id. */
export interface Resent {
  readonly id: string;
  readonly before: DeliveryStatus | null;
  /**
   * `resent`: planned anew under a new key; `in_doubt`: LINE may have accepted it, and nobody said that a duplicate is accepted; `open`: it
   * is not at its end; `over`: it was accepted, split or cancelled, which is for good; `follows`: the part before it ended without being accepted;
   * resent, that one takes it along; `of_campaign`: its campaign decides; `not_there`.
   */
  readonly result: 'resent' | 'in_doubt' | 'open' | 'over' | 'follows' | 'of_campaign' | 'not_there';
}

type Found = { id: string; status: DeliveryStatus; campaign_id: string | null; is_following: boolean };

/**
 * refused, expired or unknown -> planned in a new epoch, for a person: worth sending for another day. What is unknown only if the person
 * accepts that it may reach somebody a second time. What was cancelled because of it is sent after it. In the order given, each id once.
 */
export async function resendDeliveries(
  tx: Tx,
  tenant: Tenant,
  { ids, acceptDuplicates }: { ids: readonly string[]; acceptDuplicates: boolean },
): Promise<Resent[]> {
  const theirs = sql`
    delivery.organization_id = ${tenant.organizationId} and delivery.line_oa_id = ${tenant.lineOaId}
    and delivery.id = any(${column(ids, 'bigint')})`;
  const { rows } = await tx.execute<Found>(sql`
    select id, status, campaign_id, ${isFollowing} as is_following from delivery where ${theirs} order by id for no key update`);
  const found = new Map(rows.map((row) => [row.id, row]));
  const resent = [...new Set(ids)].map((id) => judge(id, found.get(id), acceptDuplicates));
  const chosen = resent.filter(({ result }) => result === 'resent').map(({ id }) => id);
  if (chosen.length === 0) return resent;
  const which = sql`delivery.id = any(${column(chosen, 'bigint')})`;
  const planned = await planInNextEpoch(tx, { which, limit: chosen.length, skipLocked: false });
  await tx.execute(sql`
    update delivery set deliver_until = greatest(deliver_until, app_now() + make_interval(hours => ${DELIVER_WITHIN_HOURS}))
     where id = any(${column(planned, 'bigint')})`);
  return resent;
}

function judge(id: string, row: Found | undefined, acceptDuplicates: boolean): Resent {
  if (row === undefined) return { id, before: null, result: 'not_there' };
  const { status: before, campaign_id: campaignId } = row;
  if (before === 'cancelled' && row.is_following) return { id, before, result: 'follows' };
  if (before === 'accepted' || before === 'cancelled' || before === 'split') return { id, before, result: 'over' };
  if (before === 'planned' || before === 'sending') return { id, before, result: 'open' };
  if (campaignId !== null) return { id, before, result: 'of_campaign' };
  if (before === 'unknown' && !acceptDuplicates) return { id, before, result: 'in_doubt' };
  return { id, before, result: 'resent' };
}
