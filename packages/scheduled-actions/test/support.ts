import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction, openDatabase, sql } from '@dueline/db';
import { columnOf } from '@dueline/db/testing';
import { type Claim, claimBatch, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';

export const CLAIM: Claim = {
  claimedBy: 'cron-1:boot',
  via: 'queue',
  limit: 500,
  leaseSeconds: 300,
  maxProcessing: 5_000,
  overdueMs: 0,
  graceSeconds: 0,
};

export const claim = (db: Db, changes: Partial<Claim> = {}) => claimBatch(db, { ...CLAIM, ...changes });

/** Schedules `count` actions and gives their ids, oldest first. */
export async function schedule(
  db: Db,
  tenant: Tenant,
  { count = 1, ...changes }: Parameters<typeof actionToSchedule>[1] & { count?: number } = {},
): Promise<string[]> {
  const actions = Array.from({ length: count }, () => actionToSchedule(tenant, changes));
  const results = await inTransaction(db, (tx) => scheduleMany(tx, actions));
  return results
    .flatMap((made) => (made.result === 'made' ? made.id : []))
    .sort((left, right) => Number(left) - Number(right));
}

/** One column of every action, in id order. */
export const each = (db: Db, expression: string) =>
  columnOf(db, `select ${expression} from scheduled_action order by id`);

/** From now on product time stands at `instant`. */
export const standAt = (db: Db, instant: string) =>
  db.$client.query(
    `create or replace function app_now() returns timestamptz language sql stable as $$ select timestamptz '${instant}' $$`,
  );
export interface Crowd {
  readonly count: number;
  readonly lane?: number;
  /** When the first of them is due, in seconds from now; the others follow evenly over `overSeconds`. */
  readonly fromSeconds?: number;
  readonly overSeconds?: number;
  readonly isWaiting?: boolean;
}

/** Many rows of an account in one statement, past the checks that make single inserts slow. */
export async function insertCrowd(url: string, { organizationId, lineOaId }: Tenant, crowd: Crowd): Promise<void> {
  const { count, lane = 1, fromSeconds = 0, overSeconds = 0, isWaiting = false } = crowd;
  const window = isWaiting ? sql`at, at - interval '1 day'` : sql`null::timestamptz, null::timestamptz`;
  const { db, close } = openDatabase({
    url,
    applicationName: 'crowd',
    maxConnections: 1,
    onError: () => undefined,
    statementTimeoutMs: 120_000,
  });
  try {
    await db.$client.query('set session_replication_role = replica');
    await db.execute(sql`
      insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, lane, execute_at, due_at,
                                    expires_at, anchor_at, dedup_key)
      select ${organizationId}::bigint, ${lineOaId}::bigint, 'U', 'send_message', '{}', ${lane}::smallint, at, at, ${window}, gen_random_uuid()
        from generate_series(1, ${count}::int) as n,
             lateral (select app_now() + make_interval(secs => ${fromSeconds}::float8 + ${overSeconds}::float8 * n / ${count}::int)) as x (at)`);
  } finally {
    await close();
  }
}
