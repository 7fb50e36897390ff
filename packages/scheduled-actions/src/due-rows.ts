import { column, type Db, type SQL, sql, type Tx } from '@dueline/db';
import type { Claim } from './claim.ts';
import { accountKey, createDueAccounts, type DueAccount } from './due-accounts.ts';
import { findAccounts } from './look.ts';
import { extended, isBefore, lateSeconds, type Span } from './places.ts';
import { countProcessing, type Processing } from './processing.ts';
import { waitGraceSeconds } from './state.ts';

/** A row that was taken, and its place: execute_at in seconds of the epoch. */
export type DueRow = { id: string; line_oa_id: string; lane: number; at: number };

/** The place of a row, as a column. */
export const PLACE = sql`date_part('epoch', action.execute_at) as at`;

/** The statement that takes rows. @param due The CTEs, of which `due` names the rows, which are locked: {@link IS_DUE}. */
export type TakeRows = (due: SQL) => SQL;

/**
 * Where they lie, which nobody changes while they are locked: that needs no index, and no estimate makes the planner read the whole
 * table. A row that changed as it was locked is left to the next call.
 */
export const IS_DUE = sql`action.ctid = any(array(select place from due))`;

/**
 * Takes up to `limit` due rows: lane 0 first (one call in ten the other way round), a share of each account, its oldest first; the share
 * grows while the call comes back short. Rows of stopped or paused accounts stay as they are, and waits until their grace is over.
 * They come oldest first, wherever they lie: the last place under a cap is the older one's.
 *
 * Safe from any number of callers at once: a row that another one holds is skipped.
 */
export async function takeDue<Row extends DueRow>(db: Db | Tx, claim: Claim, takeRows: TakeRows): Promise<Row[]> {
  const { accounts: list = createDueAccounts(), graceSeconds = waitGraceSeconds } = claim;
  await findAccounts(db, list, { graceSeconds });
  const { accounts, share } = list.turn(claim.limit);
  if (accounts.length === 0) return [];
  const processing = await countProcessing(db, { ...claim, list });
  const shares = { ...claim, processing, takeRows };
  const first = await takeInTurn<Row>(db, { ...shares, accounts, share, taken: [] });
  const again = first.rows.length < claim.limit ? list.again() : undefined;
  const limit = claim.limit - first.rows.length;
  const rest =
    again === undefined
      ? []
      : (await takeInTurn<Row>(db, { ...shares, accounts: again, share, limit, taken: first.rows })).rows;
  const rows = [...first.rows, ...rest];
  const spans = spansOf(rows);
  const isFull = rows.length >= claim.limit;
  const wasCut = isFull && accounts.findLastIndex((account) => spans.has(accountKey(account))) < accounts.length - 1;
  list.took({ spans, lateSeconds: lateSeconds(graceSeconds), share: first.share, isFull, wasCut });
  return rows.sort((left, right) => (isBefore(left, right) ? -1 : 1));
}

interface Shares extends Omit<Claim, 'accounts'> {
  readonly accounts: readonly DueAccount[];
  readonly share: number;
  readonly takeRows: TakeRows;
  /** What is taken is added. */
  readonly processing: Processing;
  /** What the call has taken already: where taking leaves a row as it is, its own transaction would take it again. */
  readonly taken: readonly DueRow[];
}

/** A share of each account; what is left of the limit goes to those that gave all that they were asked for. */
async function takeInTurn<Row extends DueRow>(db: Db | Tx, shares: Shares): Promise<{ rows: Row[]; share: number }> {
  const rows: Row[] = [];
  for (let { accounts, share } = shares; ; share *= 2) {
    const taken = [...shares.taken, ...rows];
    const more = await takeShares<Row>(db, { ...shares, accounts, share, taken, limit: shares.limit - rows.length });
    rows.push(...more);
    for (const { line_oa_id: id } of more) shares.processing.set(id, (shares.processing.get(id) ?? 0) + 1);
    accounts = rows.length < shares.limit ? havingMore(accounts, more, share) : [];
    if (accounts.length === 0) return { rows, share };
  }
}

/** The accounts that gave all that they were asked for, from where they left off. */
function havingMore(accounts: readonly DueAccount[], taken: readonly DueRow[], share: number): DueAccount[] {
  const spans = spansOf(taken);
  return accounts.flatMap((account) => {
    const span = spans.get(accountKey(account));
    return span !== undefined && span.count >= share ? { ...account, from: span.last } : [];
  });
}

/** What was taken of each account and lane. */
function spansOf(rows: readonly DueRow[]): Map<string, Span> {
  const spans = new Map<string, Span>();
  for (const { lane, line_oa_id: lineOaId, at, id } of rows) {
    const key = accountKey({ lane, lineOaId });
    spans.set(key, extended(spans.get(key), { at, id }));
  }
  return spans;
}

/**
 * The selects are MATERIALIZED on purpose: inlined, the planner may run them again per row and claim more than `limit`. FOR NO KEY
 * UPDATE, because FOR UPDATE would silently skip rows that have an open child insert.
 */
async function takeShares<Row extends DueRow>(db: Db | Tx, claim: Shares): Promise<Row[]> {
  const { accounts, share, taken, graceSeconds = waitGraceSeconds } = claim;
  const ids = taken.map(({ id }) => id);
  const isNew = ids.length === 0 ? sql`true` : sql`id <> all(${column(ids, 'bigint')})`;
  const due = sql`
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
      select action.place
        from account cross join lateral (
          select ctid as place from scheduled_action
           where status = 'pending' and lane = account.lane and line_oa_id = account.line_oa_id
             and execute_at <= app_now() - make_interval(secs => ${claim.overdueMs / 1_000})
             and (execute_at, id) >= (account.at, account.id) and ${isNew}
             and (expires_at is null or branch is not null or execute_at <= app_now() - make_interval(secs => ${graceSeconds}))
           order by execute_at, id
           limit account.share
             for no key update skip locked) as action
       limit (select greatest(0, least(${claim.limit}::bigint, ${claim.maxProcessing}::bigint - coalesce(sum(rows), 0))) from in_hand)
    )`;
  const { rows } = await db.execute(claim.takeRows(due));
  return rows as Row[]; // takeRows knows its columns
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
