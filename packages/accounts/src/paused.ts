import type { Tenant } from '@dueline/contracts';
import { type Db, sql } from '@dueline/db';
import type { PauseReason } from './pause.ts';

/** Pauses that may end without a person. */
type EndsByItself = Exclude<PauseReason, 'forbidden' | 'by_person'>;

/** A paused account at which this process looks now. */
export interface PausedAccount extends Tenant {
  readonly reasonCode: EndsByItself;
  /** What LINE told when it was paused. */
  readonly quota: number | null;
  readonly used: number | null;
  /** How many messages the request wanted that LINE refused. */
  readonly wanted: number;
  /** Seconds of product time since the pause. */
  readonly pausedSeconds: number;
  /** Whether a month of LINE's calendar (UTC+9) has begun since. */
  readonly isNewMonth: boolean;
}

type PausedRow = {
  organization_id: string;
  line_oa_id: string;
  reason_code: PausedAccount['reasonCode'];
  quota: string | null;
  used: string | null;
  wanted: number | null;
  paused_seconds: number;
  is_new_month: boolean;
};

/**
 * Takes the accounts whose pause may be over and at which nobody looked for `everySeconds` of process time, longest ago first: each goes
 * to one process. Not those that a person paused, that LINE forbade something, or that are stopped.
 */
export async function takePausedAccounts(
  db: Db,
  { everySeconds, limit }: { everySeconds: number; limit: number },
): Promise<PausedAccount[]> {
  const { rows } = await db.execute<PausedRow>(sql`
    with taken as materialized (
      select trouble.line_oa_id
        from account_trouble as trouble
        join line_oa on line_oa.id = trouble.line_oa_id and line_oa.stopped_at is null and line_oa.deleted_date is null
        join organization on organization.id = trouble.organization_id and organization.stopped_at is null
       where paused_at is not null and reason_code in ('monthly_limit', 'held_back', 'token_refused')
         and looked_at < clock_timestamp() - make_interval(secs => ${everySeconds})
       order by looked_at limit ${limit}
         for no key update of trouble skip locked
    )
    update account_trouble as trouble set looked_at = clock_timestamp()
      from taken where trouble.line_oa_id = taken.line_oa_id
    returning trouble.organization_id, trouble.line_oa_id, reason_code, quota, used, wanted,
              extract(epoch from app_now() - paused_at)::float8 as paused_seconds,
              date_trunc('month', app_now() at time zone 'Asia/Tokyo') > date_trunc('month', paused_at at time zone 'Asia/Tokyo') as is_new_month`);
  return rows.map((row) => ({
    organizationId: row.organization_id,
    lineOaId: row.line_oa_id,
    reasonCode: row.reason_code,
    quota: row.quota === null ? null : Number(row.quota),
    used: row.used === null ? null : Number(row.used),
    wanted: row.wanted ?? 1,
    pausedSeconds: row.paused_seconds,
    isNewMonth: row.is_new_month,
  }));
}
