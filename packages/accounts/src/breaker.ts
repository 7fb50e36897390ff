import type { Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';

/** Refusals of different deliveries within a time that open the breaker, and for how long; seconds of product time. */
export interface BreakerLimits {
  readonly refusals: number;
  readonly withinSeconds: number;
  readonly openSeconds: number;
}

/** CONTRACT of sends, B3: five within a minute stop sends for five minutes. */
export const BREAKER_LIMITS: BreakerLimits = { refusals: 5, withinSeconds: 60, openSeconds: 300 };

/**
 * Notes that LINE refused a delivery in which it finds nothing wrong. The breaker opens when that are too many different ones in a short
 * time, and again for the whole time when it was open.
 *
 * @returns Seconds until something may be sent; 0: the breaker is closed.
 */
export async function noteRefusal(
  db: Db,
  { organizationId, lineOaId, id, limits }: Tenant & { readonly id: string; readonly limits: BreakerLimits },
): Promise<number> {
  const now = sql`extract(epoch from app_now())`;
  const recent = sql`
    (select jsonb_object_agg(key, value) from jsonb_each(trouble.refusals || excluded.refusals)
      where value::float8 > ${now} - ${limits.withinSeconds}::float8)`;
  const { rows } = await db.execute<{ seconds: number }>(sql`
    insert into account_trouble as trouble (organization_id, line_oa_id, refusals)
    values (${organizationId}, ${lineOaId}, jsonb_build_object(${id}::text, ${now}))
        on conflict (line_oa_id) do update
       set refusals = ${recent},
           breaker_until = case
             when trouble.breaker_until is not null or (select count(*) from jsonb_object_keys(${recent})) >= ${limits.refusals}::int
             then app_now() + make_interval(secs => ${limits.openSeconds}) end
    returning coalesce(extract(epoch from breaker_until - app_now()), 0)::float8 as seconds`);
  return rows[0]?.seconds ?? 0;
}

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

/** LINE accepted what was sent to see: sends go on. Returns whether the breaker was not closed before. */
export async function closeBreaker(db: Db, { lineOaId }: { readonly lineOaId: string }): Promise<boolean> {
  const { rowCount } = await db.execute(sql`
    update account_trouble set breaker_until = null, refusals = '{}' where line_oa_id = ${lineOaId} and breaker_until is not null`);
  return rowCount === 1;
}
