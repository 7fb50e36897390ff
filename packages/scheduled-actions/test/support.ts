import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf } from '@dueline/db/testing';
import { type ActionToSchedule, type Claim, claimBatch, scheduleMany } from '@dueline/scheduled-actions';
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
  { count = 1, ...changes }: Partial<ActionToSchedule> & { count?: number } = {},
): Promise<string[]> {
  const actions = Array.from({ length: count }, () => actionToSchedule(tenant, changes));
  const ids = await inTransaction(db, (tx) => scheduleMany(tx, actions));
  return [...ids.values()].sort((left, right) => Number(left) - Number(right));
}

/** One column of every action, in id order. */
export const each = (db: Db, expression: string) =>
  columnOf(db, `select ${expression} from scheduled_action order by id`);
