import { type Db, type SQL, sql, type Tx } from '@dueline/db';
import type { DueAccounts, MetAccount } from './due-accounts.ts';
import { lateSeconds } from './places.ts';
import { waitGraceSeconds } from './state.ts';

/** Rows that one look reads, at most; when there are more, the accounts behind them are found by a scan. */
const MAX_ROWS = 5_000;
/** Instants that one look tells: beyond them the claim loop, which runs until nothing is due, keeps up anyway. */
const MAX_INSTANTS = 1_000;
/** Overdue rows of stopped accounts, and waits in their grace, that a look passes over before it says "due" for safety's sake. */
const MAX_PASSED_OVER = 1_000;
/** A scan lists accounts whose oldest row is due before the next one: they are 60 s apart, at most. */
const SCAN_AHEAD_SECONDS = 62;
/** A claimer's own look-ahead, in milliseconds. */
const LOOK_AHEAD_MS = 2_000;

type AccountRow = { lane: number; line_oa_id: string; oldest: number };

const parseAccount = (row: AccountRow): MetAccount => ({
  lane: row.lane,
  lineOaId: row.line_oa_id,
  oldest: row.oldest,
});

/** Brings a claimer's list up to date, if it wants that before its next claim. */
export async function findAccounts(
  db: Db | Tx,
  list: DueAccounts,
  { graceSeconds = waitGraceSeconds }: { graceSeconds: number | undefined },
): Promise<void> {
  const wanted = list.wants();
  if (wanted === 'look') await lookAhead(db, { withinMs: LOOK_AHEAD_MS, graceSeconds, list });
  if (wanted === 'scan') list.scanned(await scan(db, { graceSeconds }));
}

/** `instant` in seconds of the epoch, or the latest from which a claim may begin: what becomes visible or free now may be so old. */
const oldestOf = (instant: SQL, graceSeconds: number): SQL =>
  sql`date_part('epoch', least(${instant}, app_now() - make_interval(secs => ${lateSeconds(graceSeconds)})))`;

/**
 * Every account and lane with rows that are due soon: a loose scan of the claim's own index, one probe for each account and lane.
 * Not a part of the claim, because dead rows that an old snapshot holds make the probes slow.
 */
async function scan(db: Db | Tx, { graceSeconds }: { graceSeconds: number }): Promise<MetAccount[]> {
  const { rows } = await db.execute<AccountRow>(sql`
    with recursive account as (
      (select lane, line_oa_id, execute_at from scheduled_action where status = 'pending'
        order by lane, line_oa_id, execute_at limit 1)
      union all
      select next.* from account cross join lateral (
        select lane, line_oa_id, execute_at from scheduled_action
         where status = 'pending' and (lane, line_oa_id) > (account.lane, account.line_oa_id)
         order by lane, line_oa_id, execute_at limit 1) as next
    )
    select lane, line_oa_id, ${oldestOf(sql`execute_at`, graceSeconds)} as oldest from account
     where execute_at <= app_now() + make_interval(secs => ${SCAN_AHEAD_SECONDS})`);
  return rows.map(parseAccount);
}

/** Of an account that is stopped or paused nothing is claimed. */
export const IS_WORKING = sql`line_oa.status = 'active' and line_oa.stopped_at is null and organization.stopped_at is null`;

type LookRow = AccountRow & { waits: number[]; rows: number };

interface Look {
  readonly withinMs: number;
  readonly graceSeconds: number;
  readonly list?: DueAccounts | undefined;
}

/**
 * What comes due within `withinMs`: milliseconds until then. What it meets goes on the list: of lane 0 every account, of the others those
 * with a row that is due soon or has been for less than a second. Rows of stopped accounts are no reason to wake up; with 300 of them
 * a second a claimer would do nothing else.
 */
export async function lookAhead(db: Db | Tx, { withinMs, graceSeconds, list }: Look): Promise<number[]> {
  const within = sql`make_interval(secs => ${withinMs / 1_000})`;
  const grace = sql`make_interval(secs => ${graceSeconds})`;
  const isWaiting = sql`expires_at is not null and branch is null`;
  const near = (isMeant: SQL, held: SQL) => sql`
    (select lane, line_oa_id, execute_at, execute_at + ${held} as free_at from scheduled_action
      where status = 'pending' and gen >= 0 and ${isMeant}
        and execute_at > app_now() - ${held} - interval '1 second' and execute_at <= app_now() - ${held} + ${within}
      order by execute_at limit ${MAX_ROWS})`;
  const { rows } = await db.execute<LookRow>(sql`
    with recursive realtime as (
      (select line_oa_id, execute_at from scheduled_action where status = 'pending' and lane = 0
        order by lane, line_oa_id, execute_at limit 1)
      union all
      select next.* from realtime cross join lateral (
        select line_oa_id, execute_at from scheduled_action
         where status = 'pending' and lane = 0 and line_oa_id > realtime.line_oa_id
         order by lane, line_oa_id, execute_at limit 1) as next
    ), near as (
      ${near(sql`not (${isWaiting})`, sql`interval '0'`)}
      union all
      ${near(isWaiting, grace)}
    )
    select lane, line_oa_id, oldest, rows,
           case when exists (select from line_oa join organization on organization.id = line_oa.organization_id
                              where line_oa.id = line_oa_id and ${IS_WORKING}) then waits else '{}' end as waits
      from (select lane, line_oa_id, ${oldestOf(sql`min(execute_at)`, graceSeconds)} as oldest, count(*)::int as rows,
                   coalesce(array_agg(distinct ceil(extract(epoch from free_at - app_now()) * 1000)::int) filter (where free_at > app_now()),
                            '{}') as waits
              from near group by lane, line_oa_id) as met
    union all
    select 0, line_oa_id, ${oldestOf(sql`execute_at`, graceSeconds)}, 0, '{}' from realtime`);
  list?.met(rows.map(parseAccount), { isPartial: rows.reduce((sum, row) => sum + row.rows, 0) >= MAX_ROWS });
  const waits = new Set(rows.flatMap((row) => row.waits));
  return [...waits].sort((left, right) => left - right).slice(0, MAX_INSTANTS);
}

/**
 * Whether something is overdue that a claim would take; one probe when it is, and never more than `MAX_PASSED_OVER`. With a list it
 * begins where the last one ended, unless all can be read in the time that it may take.
 */
export async function isOverdue(db: Db, { graceSeconds, list }: Omit<Look, 'withinMs'>): Promise<boolean> {
  const from = list === undefined ? Number.NEGATIVE_INFINITY : list.overdueFrom();
  const due = sql`status = 'pending' and gen >= 0 and execute_at <= app_now()
      and execute_at >= coalesce(to_timestamp(${from}::float8), app_now() - make_interval(secs => ${lateSeconds(graceSeconds)}))`;
  const { rows } = await db.execute<{ is_overdue: boolean; oldest: number }>(sql`
    with claimable as materialized (
      select execute_at
        from (select line_oa_id, execute_at, expires_at, branch from scheduled_action where ${due}
               order by execute_at limit ${MAX_PASSED_OVER}) as due
        join line_oa on line_oa.id = due.line_oa_id
        join organization on organization.id = line_oa.organization_id and ${IS_WORKING}
       where due.expires_at is null or due.branch is not null or due.execute_at <= app_now() - make_interval(secs => ${graceSeconds})
       limit 1
    )
    select exists (select from claimable)
           or exists (select from scheduled_action where ${due} order by execute_at offset ${MAX_PASSED_OVER} limit 1) as is_overdue,
           ${oldestOf(sql`(select execute_at from claimable)`, graceSeconds)} as oldest`);
  const [{ is_overdue: found, oldest } = { is_overdue: true, oldest: from ?? Number.NEGATIVE_INFINITY }] = rows;
  list?.foundOverdue(oldest);
  return found;
}
