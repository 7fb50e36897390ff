import type { TenantTicket, Ticket } from '@dueline/contracts';
import { type Db, sql, type Tx, ticketRows } from '@dueline/db';
import type { DueAccounts } from './due-accounts.ts';
import { type DueRow, IS_DUE, PLACE, takeDue } from './due-rows.ts';

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
  /**
   * No claim beyond this many rows in processing by the same profile, nor beyond half of it for one account, so that a slow
   * consumer never has stale tickets. MAX_SAFE_INTEGER: no cap. While an old snapshot makes counting slow, what other claimers
   * take meanwhile is not seen at once.
   */
  readonly maxProcessing: number;
  /** Takes only rows that have been due for so long, in milliseconds of product time: the head start of another claimer. */
  readonly overdueMs: number;
  /** How long a wait that is over is left to facts on their way; waitGraceSeconds unless given. */
  readonly graceSeconds?: number;
  /** The list of a claimer that claims again and again; without it the call looks for the accounts itself. */
  readonly accounts?: DueAccounts;
}

/** A claimed row, and its lane: 0 travels on a queue of its own. */
export interface ClaimedTicket extends TenantTicket {
  readonly lane: number;
}

/**
 * pending -> processing for up to `limit` due rows, oldest first and fair between accounts and lanes (see takeDue). Safe from any number of
 * replicas and both profiles at once: no row is returned twice.
 */
export async function claimBatch(db: Db | Tx, claim: Claim): Promise<ClaimedTicket[]> {
  const rows = await takeDue<TicketRow>(
    db,
    claim,
    (due) => sql`
    ${due}
    update scheduled_action as action
       set status = 'processing', fence = action.fence + 1, attempt = action.attempt + 1, ${taken(claim)}
     where ${IS_DUE}
    returning action.id, action.fence, action.organization_id, action.line_oa_id, action.lane, ${PLACE}`,
  );
  return rows.map(parseTicket);
}

/** pending -> processing for rows that {@link holdDue} locked in this transaction, to be decided later under the tickets that come back. */
export async function claimHeld(tx: Tx, held: readonly Ticket[], claim: Claim): Promise<ClaimedTicket[]> {
  if (held.length === 0) return [];
  const { rows } = await tx.execute<TicketRow>(sql`
    update scheduled_action as action
       set status = 'processing', fence = action.fence + 1, attempt = action.attempt + 1, ${taken(claim)}
      from ${ticketRows(held)}
     where action.id = ticket.id and action.fence = ticket.fence and action.status = 'pending'
    returning action.id, action.fence, action.organization_id, action.line_oa_id, action.lane, ${PLACE}`);
  return rows.map(parseTicket);
}

const taken = ({ claimedBy, via, leaseSeconds }: Claim) => sql`
  claimed_by = ${claimedBy}, claimed_via = ${via}, lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds}),
  updated_at = clock_timestamp()`;

type TicketRow = DueRow & { fence: string; organization_id: string };

const parseTicket = (row: TicketRow): ClaimedTicket => ({
  id: row.id,
  fence: row.fence,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  lane: row.lane,
});
