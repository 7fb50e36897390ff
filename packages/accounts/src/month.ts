import type { Tenant } from '@dueline/contracts';
import { type Db, sql, type Tx } from '@dueline/db';

/** What LINE told of the running month. */
export interface MonthTold {
  /** Messages of the month; null: LINE names no limit. */
  readonly quota: number | null;
  readonly used: number;
}

/** Writes down what LINE told just now. Whoever wanted to know it does. */
export async function recordMonth(
  db: Db | Tx,
  { organizationId, lineOaId }: Tenant,
  { quota, used }: MonthTold,
): Promise<void> {
  await db.execute(sql`
    insert into month_quota (line_oa_id, organization_id, quota, used, told_at)
    values (${lineOaId}, ${organizationId}, ${quota}, ${used}, app_now())
        on conflict (line_oa_id) do update
       set quota = excluded.quota, used = excluded.used, told_at = excluded.told_at, wanted_at = null, lease_until = null`);
}

/** Somebody wants to know how the month stands: one process that may ask LINE will. */
export async function wantMonth(db: Db, { organizationId, lineOaId }: Tenant): Promise<void> {
  await db.execute(sql`
    insert into month_quota (line_oa_id, organization_id, wanted_at) values (${lineOaId}, ${organizationId}, app_now())
        on conflict (line_oa_id) do update set wanted_at = excluded.wanted_at`);
}

/** Whether nobody waits for LINE's answer any more. */
export async function isMonthTold(db: Db, { organizationId, lineOaId }: Tenant): Promise<boolean> {
  const { rows } = await db.execute<{ is_told: boolean }>(sql`
    select wanted_at is null as is_told from month_quota where line_oa_id = ${lineOaId} and organization_id = ${organizationId}`);
  return rows[0]?.is_told ?? false;
}

/** A wish older than this is nobody's any more, in minutes of product time. */
const WANTED_MINUTES = 10;

/**
 * Accounts of which somebody wants to know how their month stands, each to one process, held for `leaseSeconds` of process time: one that
 * LINE told nothing of is asked for again after that.
 */
export async function takeWantedMonths(
  db: Db,
  { leaseSeconds, limit }: { leaseSeconds: number; limit: number },
): Promise<Tenant[]> {
  const { rows } = await db.execute<{ organization_id: string; line_oa_id: string }>(sql`
    with taken as materialized (
      select line_oa_id from month_quota
       where wanted_at is not null and wanted_at > app_now() - make_interval(mins => ${WANTED_MINUTES})
         and (lease_until is null or lease_until < clock_timestamp())
       order by wanted_at limit ${limit}
         for no key update skip locked
    )
    update month_quota set lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
      from taken where month_quota.line_oa_id = taken.line_oa_id
    returning organization_id, month_quota.line_oa_id`);
  return rows.map((row) => ({ organizationId: row.organization_id, lineOaId: row.line_oa_id }));
}
