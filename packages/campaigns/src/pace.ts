import type { CampaignStatus, Tenant, Ticket } from '@dueline/contracts';
import { type Db, sql, type Tx } from '@dueline/db';
import { PermanentError } from '@dueline/kernel';
import { z } from 'zod';
import { type ControlOutcome, holdCampaign, isRefused } from './control.ts';

const maxPerMinute = z.int().min(1).max(10_000_000).nullable();

/** Gives the requests of a campaign that have not begun new times, from now on; how many they are. */
export type RepaceDeliveries = (
  tx: Tx,
  tenant: Tenant,
  campaign: { campaignId: string; maxPerMinute: number | null },
) => Promise<number>;

export type PaceOutcome =
  | {
      readonly result: 'set';
      /** Requests that got new times; 0 before the recipients are frozen. */
      readonly repaced: number;
    }
  | Extract<ControlOutcome, { result: 'refused' }>;

const NOT_ENDED: readonly CampaignStatus[] = ['draft', 'scheduled', 'sending', 'paused', 'needs_attention'];

/**
 * Sets how many people a campaign may reach within a minute; null: as fast as LINE allows. What has not begun gets new times at once. Under the
 * fence that the person saw, which does not move.
 *
 * @param tx As the tenant (`inTenant`).
 * @throws PermanentError when it is no whole number from 1 to 10,000,000.
 */
export async function setCampaignPace(
  tx: Tx,
  tenant: Tenant,
  {
    campaign,
    repaceDeliveries,
    ...given
  }: { campaign: Ticket; maxPerMinute: number | null; repaceDeliveries: RepaceDeliveries },
): Promise<PaceOutcome> {
  const { data, success } = maxPerMinute.safeParse(given.maxPerMinute);
  if (!success) throw new PermanentError('pace is invalid at /maxPerMinute: a whole number from 1 to 10000000');
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from: NOT_ENDED } });
  if (isRefused(held)) return held;
  await tx.execute(sql`
    update campaign set max_per_minute = ${data}, updated_date = clock_timestamp() where id = ${held.id}`);
  const repaced = held.isFrozen ? await repaceDeliveries(tx, tenant, { campaignId: held.id, maxPerMinute: data }) : 0;
  return { result: 'set', repaced };
}

/** People whom a campaign may reach within a minute; null: as fast as LINE allows. */
export async function getCampaignPace(on: Db | Tx, { campaignId }: { campaignId: string }): Promise<number | null> {
  const { rows } = await on.execute<{ max_per_minute: number | null }>(
    sql`select max_per_minute from campaign where id = ${campaignId}`,
  );
  return rows[0]?.max_per_minute ?? null;
}
