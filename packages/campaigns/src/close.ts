import type { Tenant } from '@dueline/contracts';
import { column, type Db, inTransaction, sql, type Tx } from '@dueline/db';
import type { StopDeliveries } from './cancel.ts';

/**
 * A sign of life, after each verdict: moves `claimed_at` when it is older than `everySeconds` of process time, so that a
 * campaign of many chunks writes its row once in that time.
 */
export async function heartbeatCampaign(
  db: Db,
  { campaignId, everySeconds }: { campaignId: string; everySeconds: number },
): Promise<void> {
  await db.execute(sql`
    update campaign set claimed_at = clock_timestamp()
     where id = ${campaignId} and status = 'sending' and claimed_at < clock_timestamp() - make_interval(secs => ${everySeconds})`);
}

/** A campaign at its end, or one that needs a person. */
export interface ClosedCampaign extends Tenant {
  readonly id: string;
  readonly status: 'sent' | 'failed' | 'needs_attention' | 'cancel';
  /** Why it is not `sent`. */
  readonly reasonCode: string | null;
}

export interface CloseOptions {
  /** Only these; all when not given. */
  readonly campaignIds?: readonly string[];
  /** Ends what came back clean of a campaign that is cancelled meanwhile; such a campaign is left alone when not given. */
  readonly stopDeliveries?: StopDeliveries;
  /** In the transaction that closes them. */
  readonly onClosed?: (tx: Tx, closed: readonly ClosedCampaign[]) => Promise<void>;
}

const MAX_CAMPAIGNS = 500;

/** A request that ended without being accepted, other than by naming its one person: somebody may be missing what was promised. */
const isMissing = sql`status = 'expired' or (status = 'refused' and reason_code is distinct from 'invalid_recipient')`;
const isSent = sql`campaign.status = 'sending' and frozen_at is not null
  and not exists (select from delivery where campaign_id = campaign.id and status in ('planned', 'sending'))`;
const isStopping = sql`cancel_requested_at is not null and campaign.status <> 'cancel'`;

/**
 * sending -> sent for frozen campaigns of which nothing is planned or on its way: everybody was accepted, or is nobody whom LINE takes.
 * -> failed when LINE takes the content for nobody; -> needs_attention when the fate of a request is unknown, or it ended without being
 * accepted. paused, needs_attention -> cancel for those that were cancelled, when nothing of them is on its way or in doubt any more. In
 * transactions of its own, after the verdict's commit: inside of it two last chunks would miss each other. At most 500 a call.
 *
 * @returns Those that it closed, in id order.
 */
export async function closeCampaigns(db: Db, options: CloseOptions = {}): Promise<ClosedCampaign[]> {
  const { campaignIds, stopDeliveries, onClosed } = options;
  const chosen = campaignIds === undefined ? sql`true` : sql`campaign.id = any(${column(campaignIds, 'bigint')})`;
  // A plain look first: after most chunks there is nothing to close, and nothing to lock.
  const ended = await db.execute<{ id: string }>(sql`
    select id from campaign where ${isSent} and ${chosen}
    union select id from campaign where ${isStopping} and ${stopDeliveries !== undefined} and ${chosen}
    order by id limit ${MAX_CAMPAIGNS}`);
  if (ended.rows.length === 0) return [];
  return inTransaction(db, async (tx) => {
    const closed = await closeHeld(tx, { ids: ended.rows.map(({ id }) => id), stopDeliveries });
    if (closed.length > 0) await onClosed?.(tx, closed);
    return closed;
  });
}

type StoppingRow = { id: string; organization_id: string; line_oa_id: string };

/** Locks first and looks at the deliveries in a further statement: who retried, resumed or stopped them has committed by then. */
async function closeHeld(
  tx: Tx,
  { ids, stopDeliveries }: { ids: readonly string[]; stopDeliveries: StopDeliveries | undefined },
): Promise<ClosedCampaign[]> {
  const chosen = sql`campaign.id = any(${column(ids, 'bigint')})`;
  const { rows: held } = await tx.execute<StoppingRow & { stopping: boolean }>(sql`
    select id, organization_id, line_oa_id, ${isStopping} as stopping from campaign where ${chosen} order by id for no key update`);
  for (const { id, organization_id: organizationId, line_oa_id: lineOaId, stopping } of held)
    if (stopping) await stopDeliveries?.(tx, { organizationId, lineOaId }, { campaignId: id });
  return judge(tx, ids);
}

type ClosedRow = StoppingRow & { status: ClosedCampaign['status']; reason_code: string | null };

async function judge(tx: Tx, ids: readonly string[]): Promise<ClosedCampaign[]> {
  const { rows } = await tx.execute<ClosedRow>(sql`
    with finished as materialized (
      select campaign.id, cancel_requested_at is not null as is_cancelled, campaign.reason_code as reason, chunks.*
        from campaign
       cross join lateral (
         select coalesce(bool_or(status = 'unknown'), false) as some_unknown,
                coalesce(bool_or(status = 'accepted'), false) as some_accepted,
                coalesce(bool_or(status = 'refused' and reason_code = 'content'), false) as some_content,
                coalesce(bool_or(${isMissing}), false) as some_missing
           from delivery where campaign_id = campaign.id) as chunks
       where campaign.id = any(${column(ids, 'bigint')}) and ((campaign.status = 'sending' and frozen_at is not null) or (${isStopping}))
         and not exists (select from delivery where campaign_id = campaign.id and status in ('planned', 'sending'))
    ), judged as (
      select id,
             case when is_cancelled then 'cancel' when some_unknown then 'needs_attention' when some_content and not some_accepted then 'failed'
                  when some_missing then 'needs_attention' else 'sent' end as status,
             case when is_cancelled then reason when some_unknown then 'chunk_unknown' when some_content and not some_accepted then 'content_refused'
                  when some_missing then 'chunk_not_sent' end as reason_code
        from finished
    ), closed as (
      update campaign
         set status = judged.status, fence = campaign.fence + 1, sent_at = case when judged.status = 'sent' then app_now() end,
             reason_code = judged.reason_code, updated_date = clock_timestamp()
        from judged where campaign.id = judged.id
      returning campaign.id, organization_id, line_oa_id, campaign.status, campaign.reason_code
    )
    select * from closed order by id`);
  return rows.map((row) => ({
    ...{ id: row.id, organizationId: row.organization_id, lineOaId: row.line_oa_id },
    ...{ status: row.status, reasonCode: row.reason_code },
  }));
}
