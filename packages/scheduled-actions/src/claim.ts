import type { TenantTicket } from '@dueline/contracts';
import { column, type Db, sql, type Tx } from '@dueline/db';
import { accountKey, createDueAccounts, type DueAccount, type DueAccounts } from './due-accounts.ts';
import { findAccounts } from './look.ts';
import { waitGraceSeconds } from './state.ts';

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
   * consumer never has stale tickets. MAX_SAFE_INTEGER: no cap.
   */
  readonly maxProcessing: number;
  /** Takes only rows that have been due for so long, in milliseconds of product time: the head start of another claimer. */
  readonly overdueMs: number;
  /** How long a wait that is over is left to facts on their way; {@link waitGraceSeconds} unless given. */
  readonly graceSeconds?: number;
  /** The list of a claimer that claims again and again; without it the call looks for the accounts itself. */
  readonly accounts?: DueAccounts;
}

/** A claimed row, and its lane: 0 travels on a queue of its own. */
export interface ClaimedTicket extends TenantTicket {
  readonly lane: number;
}

/**
 * pending -> processing for up to `limit` due rows: lane 0 first (one call in ten the other way round), a share of each account, its
 * oldest first; the share grows while the call comes back short. Rows of stopped or paused accounts stay as they are, and waits
 * until their grace is over.
 *
 * Safe from any number of replicas and both profiles at once: a row that another claimer holds is skipped, so no row is
 * returned twice.
 */
export async function claimBatch(db: Db | Tx, claim: Claim): Promise<ClaimedTicket[]> {
  const list = claim.accounts ?? createDueAccounts();
  await findAccounts(db, list, { graceSeconds: claim.graceSeconds });
  const { accounts, share: firstShare } = list.turn(claim.limit);
  const claimed: ClaimedTicket[] = [];
  if (accounts.length === 0) return claimed;
  let share = firstShare;
  for (;;) {
    const taken = await claimShares(db, { ...claim, accounts, share, limit: claim.limit - claimed.length });
    claimed.push(...taken);
    if (claimed.length >= claim.limit || !mayHaveMore(taken, share)) break;
    share *= 2;
  }
  const fed = new Set(claimed.map(accountKey));
  const wasCut =
    claimed.length >= claim.limit &&
    accounts.findLastIndex((account) => fed.has(accountKey(account))) < accounts.length - 1;
  list.took({ fed, share, wasCut });
  return claimed;
}

/** Whether an account gave all that it was asked for. */
function mayHaveMore(taken: readonly ClaimedTicket[], share: number): boolean {
  const counts = new Map<string, number>();
  for (const ticket of taken) counts.set(accountKey(ticket), (counts.get(accountKey(ticket)) ?? 0) + 1);
  return [...counts.values()].some((count) => count >= share);
}

type TicketRow = { id: string; fence: string; organization_id: string; line_oa_id: string; lane: number };

const parseTicket = (row: TicketRow): ClaimedTicket => ({
  id: row.id,
  fence: row.fence,
  organizationId: row.organization_id,
  lineOaId: row.line_oa_id,
  lane: row.lane,
});

/**
 * The selects are MATERIALIZED on purpose: inlined, the planner may run them again per row and claim more than `limit`. Their ids
 * are an array, so that no estimate of theirs makes the planner read the whole table. FOR NO KEY UPDATE, because FOR UPDATE
 * would silently skip rows that have an open child insert.
 */
async function claimShares(
  db: Db | Tx,
  claim: Omit<Claim, 'accounts'> & { readonly accounts: readonly DueAccount[]; readonly share: number },
): Promise<ClaimedTicket[]> {
  const { accounts, share, graceSeconds = waitGraceSeconds } = claim;
  const { rows } = await db.execute<TicketRow>(sql`
    with in_hand as materialized (
      select line_oa_id, count(*) as rows from scheduled_action
       where status = 'processing' and claimed_via = ${claim.via} and ${claim.maxProcessing}::bigint < ${Number.MAX_SAFE_INTEGER}::bigint
       group by line_oa_id
    ), account as materialized (
      select listed.lane, listed.line_oa_id, coalesce(to_timestamp(listed.low), '-infinity') as low,
             greatest(0, least(${share}::bigint, (${claim.maxProcessing}::bigint + 1) / 2 - coalesce(in_hand.rows, 0))) as share
        from unnest(${column(
          accounts.map(({ lane }) => lane),
          'integer',
        )}, ${column(
          accounts.map(({ lineOaId }) => lineOaId),
          'bigint',
        )},
                    ${column(
                      accounts.map(({ low }) => low),
                      'bigint',
                    )}) with ordinality as listed (lane, line_oa_id, low, turn)
       cross join lateral (
         select from line_oa join organization on organization.id = line_oa.organization_id
          where line_oa.id = listed.line_oa_id and line_oa.status = 'active'
            and line_oa.stopped_at is null and organization.stopped_at is null
          limit 1) as working
        left join in_hand on in_hand.line_oa_id = listed.line_oa_id
       order by listed.turn
    ), due as materialized (
      select action.id
        from account cross join lateral (
          select id from scheduled_action
           where status = 'pending' and lane = account.lane and line_oa_id = account.line_oa_id
             and execute_at <= app_now() - make_interval(secs => ${claim.overdueMs / 1_000})
             and execute_at >= account.low
             and (expires_at is null or branch is not null or execute_at <= app_now() - make_interval(secs => ${graceSeconds}))
           order by execute_at, id
           limit account.share
             for no key update skip locked) as action
       limit (select greatest(0, least(${claim.limit}::bigint, ${claim.maxProcessing}::bigint - coalesce(sum(rows), 0))) from in_hand)
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
    returning action.id, action.fence, action.organization_id, action.line_oa_id, action.lane`);
  return rows.map(parseTicket);
}
