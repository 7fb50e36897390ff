import type { Tenant } from '@dueline/contracts';
import { type Db, type SQL, sql } from '@dueline/db';

/** Refusals of different deliveries within a time that open the breaker, and for how long; seconds of product time. */
export interface BreakerLimits {
  readonly refusals: number;
  readonly withinSeconds: number;
  readonly openSeconds: number;
}

/** CONTRACT of sends, B3: five within a minute stop sends for five minutes. */
export const BREAKER_LIMITS: BreakerLimits = { refusals: 5, withinSeconds: 60, openSeconds: 300 };

/** What a refusal comes to. */
export interface NotedRefusal {
  /** Seconds until something may be sent; 0: the breaker is closed. */
  readonly openSeconds: number;
  /** Other sends that were refused so within the last hour. */
  readonly others: number;
}

const REMEMBERED_SECONDS = 3_600;
const NOW = sql`extract(epoch from app_now())`;

/**
 * Notes that LINE refused a send in which it finds nothing wrong. The breaker opens when that are too many different ones in a short
 * time, and again for the whole time when it was open. Of a request and its parts, whose names begin with its name, those count that have
 * no refused part themselves: one bad recipient is one, however often the request is halved, and an outage is as many as there are halves.
 */
export async function noteRefusal(
  db: Db,
  { organizationId, lineOaId, name, limits }: Tenant & { readonly name: string; readonly limits: BreakerLimits },
): Promise<NotedRefusal> {
  const remembered = sql`
    (select jsonb_object_agg(key, value) from jsonb_each(trouble.refusals || excluded.refusals)
      where value::float8 > ${NOW} - ${REMEMBERED_SECONDS}::float8)`;
  const { rows } = await db.execute<{ seconds: number; sends: number }>(sql`
    insert into account_trouble as trouble (organization_id, line_oa_id, refusals)
    values (${organizationId}, ${lineOaId}, jsonb_build_object(${name}::text, ${NOW}))
        on conflict (line_oa_id) do update
       set refusals = ${remembered},
           breaker_until = case
             when trouble.breaker_until is not null or (${sends(remembered, limits.withinSeconds)}) >= ${limits.refusals}::int
             then app_now() + make_interval(secs => ${limits.openSeconds}) end
    returning coalesce(extract(epoch from breaker_until - app_now()), 0)::float8 as seconds,
              (${sends(sql`trouble.refusals`, REMEMBERED_SECONDS)})::int as sends`);
  const { seconds, sends: count } = rows[0] ?? { seconds: 0, sends: 1 };
  return { openSeconds: seconds, others: count - 1 };
}

/** How many were refused within so many seconds and have no part that was. */
const sends = (noted: SQL, seconds: number): SQL => sql`
  select count(*) from jsonb_each(${noted}) as send (name, at)
   where at::float8 > ${NOW} - ${seconds}::float8
     and not exists (select from jsonb_object_keys(${noted}) as part (name)
                      where part.name <> send.name and starts_with(part.name, send.name))`;

/** The accounts whose breaker is not closed. */
export async function loadBreakers(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await db.execute<{ line_oa_id: string }>(
    sql`select line_oa_id from account_trouble where breaker_until is not null`,
  );
  return new Set(rows.map((row) => row.line_oa_id));
}

/**
 * After the time of an open breaker one delivery may go to see whether LINE is well again; the breaker stays open for the others, and
 * for another one after `openSeconds` / 5 if nobody hears of this one.
 *
 * @returns Whether the caller may send one.
 */
export async function takeBreakerProbe(
  db: Db,
  { lineOaId, limits }: { readonly lineOaId: string; readonly limits: BreakerLimits },
): Promise<boolean> {
  const { rowCount } = await db.execute(sql`
    update account_trouble set breaker_until = app_now() + make_interval(secs => ${limits.openSeconds / 5})
     where line_oa_id = ${lineOaId} and breaker_until <= app_now()`);
  return rowCount === 1;
}

/**
 * LINE accepted what was sent to see: sends go on, and what was refused before counts towards the breaker no more. Returns whether the breaker
 * was not closed before.
 */
export async function closeBreaker(
  db: Db,
  { lineOaId, limits }: { readonly lineOaId: string; readonly limits: BreakerLimits },
): Promise<boolean> {
  const { rowCount } = await db.execute(sql`
    update account_trouble
       set breaker_until = null,
           refusals = (select coalesce(jsonb_object_agg(key, least(value::float8, ${NOW} - ${limits.withinSeconds}::float8)), '{}') from jsonb_each(refusals))
     where line_oa_id = ${lineOaId} and breaker_until is not null`);
  return rowCount === 1;
}
