import { sql, type Tx } from '@dueline/db';
import type { Campaign } from './campaign.ts';
import { getMonth } from './month.ts';
import { countKnownFriends, countRecipients, toleratedDrift } from './preview.ts';

/** What was counted before a start: the column `start_check`. */
export interface StartCheck {
  /** People whom it would reach; null: a broadcast. */
  readonly people: number | null;
  /** People whom the author was shown. */
  readonly confirmed: number | null;
  /** Messages of the month that it uses; of a broadcast at least so many: one for each friend that we know. */
  readonly needed: number;
  /** Messages that are left; null: nobody knows, or LINE names no limit. */
  readonly left: number | null;
  /** `unknown`: LINE has not told within the hour, so it was not held for want of messages. */
  readonly month: 'left' | 'no_limit' | 'unknown';
}

/** Counts in the transaction of the start. */
export async function checkStart(tx: Tx, campaign: Campaign): Promise<StartCheck> {
  const people = await countRecipients(tx, campaign);
  const month = await getMonth(tx, campaign);
  return {
    people,
    confirmed: campaign.confirmedCount,
    needed: people ?? Math.max(1, await countKnownFriends(tx, campaign)),
    left: month.known === 'left' ? month.left : null,
    month: month.known,
  };
}

/** Why a person must look before it starts; undefined: it may. Pure. */
export function needsPerson(
  { ignoresQuota }: Pick<Campaign, 'ignoresQuota'>,
  { people, confirmed, needed, left }: StartCheck,
): 'more_than_confirmed' | 'quota_short' | undefined {
  if (people !== null && confirmed !== null && people > confirmed + toleratedDrift(confirmed))
    return 'more_than_confirmed';
  return left !== null && needed > left && !ignoresQuota ? 'quota_short' : undefined;
}

/** Why a start was held, and what was counted. */
export interface StartHold {
  readonly reasonCode: 'more_than_confirmed' | 'quota_short';
  readonly check: StartCheck;
}

/** Of a campaign that a start has just held. */
export async function getStartHold(tx: Tx, { campaignId }: { campaignId: string }): Promise<StartHold> {
  const { rows } = await tx.execute<{ reason_code: StartHold['reasonCode']; start_check: StartCheck }>(sql`
    select reason_code, start_check from campaign where id = ${campaignId} and status = 'needs_attention' and frozen_at is null`);
  const [row] = rows;
  if (row === undefined) throw new Error(`campaign ${campaignId} is not held before its start`);
  return { reasonCode: row.reason_code, check: row.start_check };
}
