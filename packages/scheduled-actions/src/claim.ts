import type { TenantTicket } from '@dueline/contracts';
import { column, type Db, type SQL, sql, type Tx } from '@dueline/db';
import { accountKey, createDueAccounts, type DueAccount, type DueAccounts } from './due-accounts.ts';
import { findAccounts } from './look.ts';
import { extended, lateSeconds, type Span } from './places.ts';
import { countProcessing, type Processing } from './processing.ts';
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
   * consumer never has stale tickets. MAX_SAFE_INTEGER: no cap. While an old snapshot makes counting slow, what other claimers
   * take meanwhile is not seen at once.
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
  const { accounts: list = createDueAccounts(), graceSeconds = waitGraceSeconds } = claim;
  await findAccounts(db, list, { graceSeconds });
  const { accounts, share } = list.turn(claim.limit);
  if (accounts.length === 0) return [];
  const processing = await countProcessing(db, { ...claim, list });
  const taken = await claimInTurn(db, { ...claim, processing, accounts, share });
  if (taken.rows.length < claim.limit) {
    const again = list.again();
    if (again !== undefined) {
      const limit = claim.limit - taken.rows.length;
      const rest = await claimInTurn(db, { ...claim, processing, accounts: again, share, limit });
      taken.rows.push(...rest.rows);
    }
  }
  const spans = spansOf(taken.rows);
  const isFull = taken.rows.length >= claim.limit;
  const wasCut = isFull && accounts.findLastIndex((account) => spans.has(accountKey(account))) < accounts.length - 1;
  list.took({ spans, lateSeconds: lateSeconds(graceSeconds), share: taken.share, isFull, wasCut });
  return taken.rows.map(parseTicket);
}

interface Shares extends Omit<Claim, 'accounts'> {
  readonly accounts: readonly DueAccount[];
  readonly share: number;
  /** What is claimed is added. */
  readonly processing: Processing;
}

/** A share of each account; what is left of the limit goes to those that gave all that they were asked for. */
async function claimInTurn(
  db: Db | Tx,
  shares: Shares,
): Promise<{ readonly rows: TicketRow[]; readonly share: number }> {
  const rows: TicketRow[] = [];
  for (let { accounts, share } = shares; ; share *= 2) {
    const taken = await claimShares(db, { ...shares, accounts, share, limit: shares.limit - rows.length });
    rows.push(...taken);
    for (const { line_oa_id: id } of taken) shares.processing.set(id, (shares.processing.get(id) ?? 0) + 1);
    const more = rows.length < shares.limit ? havingMore(accounts, taken, share) : [];
    if (more.length === 0) return { rows, share };
    accounts = more;
  }
}

/** The accounts that gave all that they were asked for, from where they left off. */
function havingMore(accounts: readonly DueAccount[], taken: readonly TicketRow[], share: number): DueAccount[] {
  const spans = spansOf(taken);
  return accounts.flatMap((account) => {
    const span = spans.get(accountKey(account));
    return span !== undefined && span.count >= share ? { ...account, from: span.last } : [];
  });
}

type TicketRow = { id: string; fence: string; organization_id: string; line_oa_id: string; lane: number; at: number };

/** What was taken of each account and lane. */
function spansOf(rows: readonly TicketRow[]): Map<string, Span> {
  const spans = new Map<string, Span>();
  for (const { lane, line_oa_id: lineOaId, at, id } of rows) {
    const key = accountKey({ lane, lineOaId });
    spans.set(key, extended(spans.get(key), { at, id }));
  }
  return spans;
}

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
async function claimShares(db: Db | Tx, claim: Shares): Promise<TicketRow[]> {
  const { accounts, share, graceSeconds = waitGraceSeconds } = claim;
  const { rows } = await db.execute<TicketRow>(sql`
    with in_hand as materialized (
      select * from unnest(${column([...claim.processing.keys()], 'bigint')}, ${column([...claim.processing.values()], 'bigint')})
        as counted (line_oa_id, rows)
    ), account as materialized (
      select listed.lane, listed.line_oa_id, coalesce(to_timestamp(listed.at), '-infinity') as at, coalesce(listed.id, 0) as id,
             greatest(0, least(${share}::bigint, (${claim.maxProcessing}::bigint + 1) / 2 - coalesce(in_hand.rows, 0))) as share
        from ${accountRows(accounts)}
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
             and (execute_at, id) >= (account.at, account.id)
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
    returning action.id, action.fence, action.organization_id, action.line_oa_id, action.lane,
              date_part('epoch', action.execute_at) as at`);
  return rows;
}

/** `listed (lane, line_oa_id, at, id, turn)`. */
function accountRows(accounts: readonly DueAccount[]): SQL {
  const lanes = column(
    accounts.map(({ lane }) => lane),
    'integer',
  );
  const ids = column(
    accounts.map(({ lineOaId }) => lineOaId),
    'bigint',
  );
  const fromAt = column(
    accounts.map(({ from }) => from?.at ?? null),
    'float8',
  );
  const fromId = column(
    accounts.map(({ from }) => from?.id ?? null),
    'bigint',
  );
  return sql`unnest(${lanes}, ${ids}, ${fromAt}, ${fromId}) with ordinality as listed (lane, line_oa_id, at, id, turn)`;
}
