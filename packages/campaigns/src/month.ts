import type { Tenant } from '@dueline/contracts';
import { type Db, sql, type Tx } from '@dueline/db';

/** What LINE told is believed for so long, in minutes of product time: others send for the account too. */
const BELIEVED_MINUTES = 60;

/**
 * What is left of an account's month, as LINE told within the hour. `unknown`: it did not, or told of the month before (LINE's months are
 * those of UTC+9).
 */
export type Month =
  | { readonly known: 'left'; readonly left: number; readonly toldAt: string }
  | { readonly known: 'no_limit'; readonly toldAt: string }
  | { readonly known: 'unknown' };

/** How an account's month stands. Reads month_quota. */
export async function getMonth(db: Db | Tx, { organizationId, lineOaId }: Tenant): Promise<Month> {
  const { rows } = await db.execute<{ left: string | null; told_at: string }>(sql`
    select case when quota >= used then quota - used when quota is not null then 0 end as left, to_json(told_at) #>> '{}' as told_at from month_quota
     where line_oa_id = ${lineOaId} and organization_id = ${organizationId}
       and told_at > app_now() - make_interval(mins => ${BELIEVED_MINUTES})
       and date_trunc('month', told_at at time zone 'Asia/Tokyo') = date_trunc('month', app_now() at time zone 'Asia/Tokyo')`);
  const [row] = rows;
  if (row === undefined) return { known: 'unknown' };
  const { left, told_at: toldAt } = row;
  return left === null ? { known: 'no_limit', toldAt } : { known: 'left', left: Number(left), toldAt };
}
