import type { Ticket } from '@dueline/contracts';
import { type Db, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';

const maxPerMinute = z.int().min(1).max(10_000_000).nullable();

/**
 * Sets how many people a campaign may reach within a minute, before its recipients are frozen; null: as fast as LINE allows. Under the
 * fence that the person saw, which does not move. False: the campaign has moved on, is deleted, or its recipients are frozen.
 *
 * @param tx As the tenant (`inTenant`).
 * @throws PermanentError when it is no whole number from 1 to 10,000,000.
 */
export async function setCampaignPace(
  tx: Tx,
  { campaign, ...given }: { campaign: Ticket; maxPerMinute: number | null },
): Promise<boolean> {
  const { data, success } = maxPerMinute.safeParse(given.maxPerMinute);
  if (!success) throw new PermanentError('pace is invalid at /maxPerMinute: a whole number from 1 to 10000000');
  const { rowCount } = await tx.execute(sql`
    update campaign set max_per_minute = ${data}, updated_date = clock_timestamp()
     where id = ${campaign.id} and fence = ${campaign.fence} and status in ('draft', 'scheduled')
       and frozen_at is null and deleted_date is null`);
  return rowCount === 1;
}

/** People whom a campaign may reach within a minute; null: as fast as LINE allows. */
export async function getCampaignPace(on: Db | Tx, { campaignId }: { campaignId: string }): Promise<number | null> {
  const { rows } = await on.execute<{ max_per_minute: number | null }>(
    sql`select max_per_minute from campaign where id = ${campaignId}`,
  );
  return rows[0]?.max_per_minute ?? null;
}
