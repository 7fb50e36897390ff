import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf } from '@dueline/db/testing';
import { type Claim, claimBatch, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';

const CLAIM: Claim = {
  claimedBy: 'cron-1:boot',
  via: 'queue',
  limit: 500,
  leaseSeconds: 300,
  maxProcessing: 5_000,
  overdueMs: 0,
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
