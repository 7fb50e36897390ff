import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, sql, type Tx } from '@dueline/db';

/** By endpoint, people on one day. */
export type PeopleByEndpoint = Readonly<Record<'push' | 'multicast' | 'broadcast', number>>;

/** People for whom LINE accepted a message from us on a day for sure, and those of them who are known to be no friends. */
export interface AcceptedPeople {
  readonly accepted: PeopleByEndpoint;
  readonly blocked: PeopleByEndpoint;
}

/** An account's day that LINE may have counted by now, held by whoever claimed it. */
export interface SentDay extends Tenant {
  /** `yyyy-mm-dd` of UTC+9. */
  readonly day: string;
  readonly ours: AcceptedPeople;
}

/** LINE's days, and how long after one it is counted by us: what was in doubt at midnight is settled. */
const UTC_PLUS_9_HOURS = 9;
const AFTER_MIDNIGHT_HOURS = 1;
/** So many days are caught up with, at most; LINE keeps its counts, but what was lost so long ago nobody repairs. */
const CATCH_UP_DAYS = 7;
/** A clock that is off by less puts nothing into another day. */
const CLOCK_MARGIN_SECONDS = 60;
/** After so long LINE is not asked again. */
const ASK_FOR_DAYS = 4;

/**
 * Writes down, once for each day of UTC+9 that is over, what LINE accepted on it, account by account; of days when nothing ran, of the last
 * seven. Returns how many days. One pass over the ledger for each day, by one process.
 */
export async function countSentDays(db: Db): Promise<number> {
  const { rows } = await db.execute<{ day: string }>(sql`
    with over as (
      select ((app_now() - make_interval(hours => ${AFTER_MIDNIGHT_HOURS})) at time zone 'UTC' + make_interval(hours => ${UTC_PLUS_9_HOURS}))::date - 1 as last
    )
    select generated::date::text as day
      from over cross join lateral generate_series(
             greatest(last - ${CATCH_UP_DAYS - 1}::int, coalesce((select max(day) + 1 from sent_count_day), last)), last, interval '1 day') as generated
     order by 1`);
  let counted = 0;
  for (const { day } of rows) if (await inTransaction(db, (tx) => countSentDay(tx, day))) counted += 1;
  return counted;
}

/** False: another process has counted it. */
async function countSentDay(tx: Tx, day: string): Promise<boolean> {
  const { rowCount } = await tx.execute(
    sql`insert into sent_count_day (day) values (${day}::date) on conflict do nothing`,
  );
  if (rowCount !== 1) return false;
  await tx.execute(sql`
    with span as materialized (
      select (${day}::timestamp - make_interval(hours => ${UTC_PLUS_9_HOURS})) at time zone 'UTC' + make_interval(secs => ${CLOCK_MARGIN_SECONDS}) as since,
             (${day}::timestamp - make_interval(hours => ${UTC_PLUS_9_HOURS - 24})) at time zone 'UTC' - make_interval(secs => ${CLOCK_MARGIN_SECONDS}) as until
    ), sent as materialized (
      select id, organization_id, line_oa_id, endpoint, user_id, campaign_id, chunk_no, split_path, first_attempt_at
        from delivery cross join span
       where status = 'accepted' and endpoint in ('push', 'multicast', 'broadcast') and first_attempt_at >= since and accepted_at < until
    ), person as (
      select organization_id, line_oa_id, endpoint, user_id from sent where endpoint = 'push'
      union all
      select sent.organization_id, sent.line_oa_id, endpoint, member.user_id
        from sent join campaign_chunk as chunk using (campaign_id, chunk_no) cross join lateral unnest(chunk.user_ids) as member (user_id)
       where endpoint = 'multicast' and split_path = ''
      union all
      select sent.organization_id, sent.line_oa_id, sent.endpoint, member.user_id
        from sent join delivery using (id) cross join lateral jsonb_array_elements_text(body::jsonb -> 'to') as member (user_id)
       where sent.endpoint = 'multicast' and sent.split_path <> ''
    ), counted as (
      select person.organization_id, person.line_oa_id, endpoint, count(*) as accepted, count(*) filter (where is_following is not true) as blocked
        from person left join line_user using (line_oa_id, user_id)
       group by 1, 2, 3
      union all
      -- of a broadcast, whose people LINE alone knows, at least the friends whom we know
      select sent.organization_id, sent.line_oa_id, endpoint, count(line_user.user_id), 0
        from sent left join line_user on line_user.line_oa_id = sent.line_oa_id and is_following and line_user.created_date <= first_attempt_at
       where endpoint = 'broadcast' group by 1, 2, 3
    )
    insert into sent_count (organization_id, line_oa_id, day, ours)
    select organization_id, line_oa_id, ${day}::date,
           jsonb_build_object('accepted', '{"push": 0, "multicast": 0, "broadcast": 0}'::jsonb || jsonb_object_agg(endpoint, accepted),
                              'blocked', '{"push": 0, "multicast": 0, "broadcast": 0}'::jsonb || jsonb_object_agg(endpoint, blocked))
      from counted group by 1, 2`);
  return true;
}

type SentDayRow = { organization_id: string; line_oa_id: string; day: string; ours: AcceptedPeople };

/** Up to `limit` days to ask LINE about, held for `leaseSeconds` of process time. Each is given to one caller. */
export async function claimSentDays(
  db: Db,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<SentDay[]> {
  const { rows } = await db.execute<SentDayRow>(sql`
    with due as materialized (
      select line_oa_id, day from sent_count
       where status = 'waiting' and next_look_at <= app_now() and (lease_until is null or lease_until < clock_timestamp())
       order by next_look_at limit ${limit}
         for no key update skip locked
    )
    update sent_count set lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
      from due where sent_count.line_oa_id = due.line_oa_id and sent_count.day = due.day
    returning organization_id, sent_count.line_oa_id, sent_count.day::text as day, ours`);
  return rows.map((row) => ({
    organizationId: row.organization_id,
    lineOaId: row.line_oa_id,
    day: row.day,
    ours: row.ours,
  }));
}

/**
 * People whom LINE should have counted and did not. Nothing that it counted beyond what we know of, another program or whom we take for
 * having blocked the account, makes up for it at another endpoint. Pure.
 */
export function deficitOf({ accepted, blocked }: AcceptedPeople, theirs: PeopleByEndpoint): number {
  const missing = (endpoint: keyof PeopleByEndpoint) =>
    Math.max(0, accepted[endpoint] - blocked[endpoint] - theirs[endpoint]);
  return missing('push') + missing('multicast') + missing('broadcast');
}

/** How a comparison came out. */
export interface Comparison {
  readonly theirs: PeopleByEndpoint;
  readonly deficit: number;
  readonly tolerated: number;
}

/** waiting -> agrees, or deficit where more are missing than tolerated. False: somebody else did it. */
export async function recordComparison(
  tx: Tx,
  { lineOaId, day }: SentDay,
  { theirs, deficit, tolerated }: Comparison,
): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    update sent_count
       set status = ${deficit > tolerated ? 'deficit' : 'agrees'}, theirs = ${JSON.stringify(theirs)}::jsonb, deficit = ${deficit},
           tolerated = ${tolerated}, compared_at = app_now(), lease_until = null
     where line_oa_id = ${lineOaId} and day = ${day}::date and status = 'waiting'`);
  return rowCount === 1;
}

/** LINE did not tell: it is asked again after `seconds` of product time; four days after the day no more, waiting -> not_told. */
export async function lookLater(db: Db, { lineOaId, day }: SentDay, { seconds }: { seconds: number }): Promise<void> {
  await db.execute(sql`
    update sent_count
       set status = case when app_now() > (day + ${1 + ASK_FOR_DAYS}::int)::timestamp at time zone 'UTC' then 'not_told' else 'waiting' end,
           next_look_at = app_now() + make_interval(secs => ${seconds}), lease_until = null
     where line_oa_id = ${lineOaId} and day = ${day}::date and status = 'waiting'`);
}
