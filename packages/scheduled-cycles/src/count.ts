import { CYCLE_KEY_PREFIX, type Tenant } from '@dueline/contracts';
import { column, type Db, inTransaction, sql, type Tx } from '@dueline/db';

/** What an action of a cycle stands for: one for each person. */
export const cycleDedupKey = (executionId: string, userId: string): string =>
  `${CYCLE_KEY_PREFIX}${executionId}:${userId}`;

/** Actions of a cycle as rows `action`, by what they stand for: a range of the index that keeps each of them once. */
export const actionsOf = (cycle: 'cycle') =>
  sql.raw(`
  scheduled_action as action
   where action.line_oa_id = ${cycle}.line_oa_id
     and action.dedup_key > '${CYCLE_KEY_PREFIX}' || ${cycle}.id || ':' and action.dedup_key < '${CYCLE_KEY_PREFIX}' || ${cycle}.id || ';'`);

/** Between two counts of a cycle, per person that it reached: a large one is counted less often. In seconds of process time. */
const SECONDS_PER_PERSON = 0.00002;

/**
 * Counts what became of the people of cycles that are all read, at most 20 of them; processing -> completed for those of whom nobody waits any more.
 * A cycle with a person whose action failed is completed as well: it says how many.
 *
 * @param options.onWritten Before the commit, when cycles are completed.
 * @returns The cycles that it completed.
 */
export async function countCycles(
  db: Db,
  { onWritten }: { onWritten?: (() => void) | undefined } = {},
): Promise<{ id: string; triggerRuleId: string }[]> {
  return inTransaction(db, async (tx) => {
    const { rows: due } = await tx.execute<{ id: string }>(sql`
      select id from scheduled_trigger_execution
       where status = 'processing' and read_all
         and (counted_at is null or counted_at < clock_timestamp() - make_interval(secs => total_users * ${SECONDS_PER_PERSON}::float8))
       order by counted_at nulls first, id limit 20
         for no key update skip locked`);
    if (due.length === 0) return [];
    const completed = await complete(
      tx,
      due.map(({ id }) => id),
    );
    if (completed.length > 0) onWritten?.();
    return completed;
  });
}

async function complete(tx: Tx, ids: readonly string[]): Promise<{ id: string; triggerRuleId: string }[]> {
  const { rows } = await tx.execute<{ id: string; trigger_rule_id: string; status: string }>(sql`
    with counted as materialized (
      select cycle.id, action.*
        from scheduled_trigger_execution as cycle
       cross join lateral (
         select count(*) filter (where status in ('pending', 'processing')) as open, count(*) filter (where status = 'failed') as failed
           from ${actionsOf('cycle')}) as action
       where cycle.id = any(${column(ids, 'bigint')})
    )
    update scheduled_trigger_execution as cycle
       set processed_users = cycle.total_users - counted.open - counted.failed, failed_users = counted.failed,
           counted_at = clock_timestamp(),
           status = case when counted.open = 0 then 'completed' else cycle.status end,
           fence = cycle.fence + case when counted.open = 0 then 1 else 0 end,
           completed_at = case when counted.open = 0 then app_now() end
      from counted where cycle.id = counted.id
    returning cycle.id, cycle.trigger_rule_id, cycle.status`);
  return rows.flatMap((row) =>
    row.status === 'completed' ? [{ id: row.id, triggerRuleId: row.trigger_rule_id }] : [],
  );
}

/** How far a cycle has come, counted now. `open`: their action waits or is being decided. */
export interface CycleProgress {
  readonly total: number;
  readonly open: number;
  readonly processed: number;
  readonly failed: number;
  /** Of the processed, those whom the rule's limits left out. */
  readonly suppressed: number;
  /** Whether more people may come: not all were read. */
  readonly isReading: boolean;
}

/** Right at any moment. Undefined: the account has no such cycle. */
export async function cycleProgress(
  db: Db,
  tenant: Tenant,
  { executionId }: { executionId: string },
): Promise<CycleProgress | undefined> {
  const { rows } = await db.execute<{
    total: string;
    open: string;
    failed: string;
    suppressed: string;
    is_reading: boolean;
  }>(sql`
    select cycle.total_users as total, cycle.suppressed_users as suppressed, cycle.status = 'processing' and not cycle.read_all as is_reading,
           case when cycle.status = 'processing' then action.open else 0 end as open,
           case when cycle.status = 'processing' then action.failed else cycle.failed_users end as failed
      from scheduled_trigger_execution as cycle
     cross join lateral (
       select count(*) filter (where status in ('pending', 'processing')) as open, count(*) filter (where status = 'failed') as failed
         from ${actionsOf('cycle')}) as action
     where cycle.id = ${executionId} and cycle.organization_id = ${tenant.organizationId} and cycle.line_oa_id = ${tenant.lineOaId}`);
  const [row] = rows;
  if (row === undefined) return undefined;
  const [total, open, failed] = [Number(row.total), Number(row.open), Number(row.failed)];
  return {
    total,
    open,
    failed,
    processed: total - open - failed,
    suppressed: Number(row.suppressed),
    isReading: row.is_reading,
  };
}
