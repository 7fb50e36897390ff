import type { TenantTicket } from '@dueline/contracts';
import { type Db, sql, type Tx, ticketRows } from '@dueline/db';

/** `queue`: announced through RabbitMQ by cron-scheduler; `inline`: decided by the claimer itself. */
export type ClaimProfile = 'queue' | 'inline';

export interface Claim {
  /** Instance name and boot id of the process, e.g. `cron-1:6f0c…`. */
  readonly claimedBy: string;
  readonly via: ClaimProfile;
  /** Rows per call, 1 to 500 (the seeds' batchSize). */
  readonly limit: number;
  /** How long the claim holds without news, in seconds of process time. */
  readonly leaseSeconds: number;
  /** No claim beyond this many rows in processing by the same profile, so that a slow consumer never has stale tickets. */
  readonly maxProcessing: number;
  /** Takes only rows that have been due for so long, in milliseconds of product time: the head start of another claimer. */
  readonly overdueMs: number;
}

type TicketRow = { id: string; fence: string; organization_id: string; line_oa_id: string };

const parseTicket = (row: TicketRow): TenantTicket => ({
  id: row.id,
  fence: row.fence,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
});

/**
 * pending -> processing for up to `limit` due rows, oldest first.
 *
 * Safe from any number of replicas and both profiles at once: a row that another claimer holds is skipped, so no row is
 * returned twice. The select is MATERIALIZED on purpose: inlined, the planner may run it again per row and claim more than
 * `limit`. Its ids are an array, so that no estimate of theirs makes the planner read the whole table. FOR NO KEY UPDATE,
 * because FOR UPDATE would silently skip rows that have an open child insert.
 */
export async function claimBatch(db: Db | Tx, claim: Claim): Promise<TenantTicket[]> {
  const { rows } = await db.execute<TicketRow>(sql`
    with room as materialized (
      select least(${claim.limit}::bigint, ${claim.maxProcessing}::bigint
               - (select count(*) from scheduled_action where status = 'processing' and claimed_via = ${claim.via})) as rows
    ), due as materialized (
      select id
        from scheduled_action
       where status = 'pending'
         and execute_at <= app_now() - make_interval(secs => ${claim.overdueMs / 1_000})
       order by execute_at, id
       limit (select greatest(rows, 0) from room)
         for no key update skip locked
    )
    update scheduled_action as action
       set status = 'processing',
           fence = action.fence + 1,
           attempt = action.attempt + 1,
           claimed_by = ${claim.claimedBy},
           claimed_via = ${claim.via},
           lease_until = clock_timestamp() + make_interval(secs => ${claim.leaseSeconds}),
           updated_at = clock_timestamp()
     where action.id = any(array(select id from due))
    returning action.id, action.fence, action.organization_id, action.line_oa_id`);
  return rows.map(parseTicket);
}

/**
 * processing -> pending for claimed rows whose ticket did not reach a worker; the try is given back. Rows whose fence moved
 * on are left alone. Returns how many rows it released.
 */
export async function releaseActions(db: Db, tickets: readonly TenantTicket[]): Promise<number> {
  if (tickets.length === 0) return 0;
  const { rowCount } = await db.execute(sql`
    with held as materialized (
      select action.id
        from scheduled_action as action
        join ${ticketRows(tickets)}
          on action.id = ticket.id and action.fence = ticket.fence
       where action.status = 'processing'
       order by action.id
         for no key update of action
    )
    update scheduled_action as action
       set status = 'pending', fence = action.fence + 1, attempt = action.attempt - 1, lease_until = null, updated_at = clock_timestamp()
      from held where action.id = held.id`);
  return rowCount ?? 0;
}
