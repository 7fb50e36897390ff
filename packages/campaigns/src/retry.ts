import type { Tenant, Ticket } from '@dueline/contracts';
import { sql, type Tx } from '@dueline/db';
import { z } from 'zod';
import { instant, parse } from './author.ts';
import { type CampaignOutcome, holdCampaign, isRefused, moveCampaign } from './control.ts';

const retryTimes = z.strictObject({ notAfter: instant.optional() });

/** Plans requests of a campaign anew that ended so, and tells which: `retryCampaignDeliveries` of deliveries. */
export type RetryDeliveries = (
  tx: Tx,
  tenant: Tenant,
  options: {
    campaignId: string;
    statuses: readonly ('refused' | 'expired' | 'unknown')[];
    deliverUntil: string | null;
  },
) => Promise<readonly { readonly id: string; readonly before: string }[]>;

export interface Retry {
  readonly campaign: Ticket;
  /** Sends again what LINE may have taken: some may get it twice. */
  readonly acceptDuplicates: boolean;
  /** Another last instant, RFC 3339; needed when the old one has passed. */
  readonly notAfter?: string | undefined;
  readonly retryDeliveries: RetryDeliveries;
}

/**
 * needs_attention -> scheduled with the requests that failed planned anew under new keys; those that were accepted stay as they are.
 *
 * @returns What became of it, and the requests that are sent again.
 * @throws PermanentError when `notAfter` is no instant.
 */
export async function retryCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign, acceptDuplicates, retryDeliveries, ...options }: Retry,
): Promise<{ outcome: CampaignOutcome; retried: readonly { readonly id: string; readonly before: string }[] }> {
  const { notAfter } = parse('retry', retryTimes, options);
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from: ['needs_attention'], frozen: true } });
  if (isRefused(held)) return { outcome: held, retried: [] };
  const refused = (refusal: 'too_late' | 'nothing_to_retry') =>
    ({ outcome: { result: 'refused', refusal, status: held.status }, retried: [] }) as const;
  if (notAfter === undefined ? held.isTooLate : Date.parse(notAfter) <= Date.parse(held.now))
    return refused('too_late');
  const deliverUntil = notAfter ?? held.notAfter;
  const statuses = ['refused', 'expired', ...(acceptDuplicates ? (['unknown'] as const) : [])] as const;
  const retried = await retryDeliveries(tx, tenant, { campaignId: held.id, statuses, deliverUntil });
  if (retried.length === 0) return refused('nothing_to_retry');
  const set = sql`, reason_code = null, not_after = ${deliverUntil}`;
  return { outcome: await moveCampaign(tx, held, { to: 'scheduled', set }), retried };
}

/** needs_attention -> sent: what did not reach anybody stays as it is. Not before its recipients were written down. */
export async function resolveCampaign(
  tx: Tx,
  tenant: Tenant,
  { campaign }: { campaign: Ticket },
): Promise<CampaignOutcome> {
  const held = await holdCampaign(tx, tenant, { campaign, needs: { from: ['needs_attention'], frozen: true } });
  return isRefused(held) ? held : moveCampaign(tx, held, { to: 'sent', set: sql`, sent_at = app_now()` });
}
