import type { Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';

/** So long without another one, and a 429 is the first again. A request that was throttled comes back within a minute. */
const APART_SECONDS = 600;

/**
 * Notes a 429 that speaks of no rate.
 *
 * @returns Seconds of product time since the first of this row of them; 0 for the first.
 */
export async function noteThrottled(db: Db, { organizationId, lineOaId }: Tenant): Promise<number> {
  const { rows } = await db.execute<{ seconds: number }>(sql`
    insert into account_trouble as trouble (organization_id, line_oa_id, throttled_since, throttled_at)
    values (${organizationId}, ${lineOaId}, app_now(), app_now())
        on conflict (line_oa_id) do update
       set throttled_since = case when trouble.throttled_at > app_now() - make_interval(secs => ${APART_SECONDS})
                                  then trouble.throttled_since else app_now() end,
           throttled_at = app_now()
    returning extract(epoch from app_now() - throttled_since)::float8 as seconds`);
  return rows[0]?.seconds ?? 0;
}

/** LINE accepted something that counts: the row of 429s is over. */
export async function forgetThrottled(db: Db, { lineOaId }: Pick<Tenant, 'lineOaId'>): Promise<void> {
  await db.execute(sql`
    update account_trouble set throttled_since = null, throttled_at = null where line_oa_id = ${lineOaId} and throttled_at is not null`);
}
