import { sql, type Tx } from '@dueline/db';
import { actionsOf, cycleDedupKey } from './count.ts';

/** A cycle that was cancelled and whose people may still have an action that waits. */
export interface CancelledCycle {
  readonly executionId: string;
  readonly lineOaId: string;
  /** What the keys of its actions begin with. */
  readonly dedupPrefix: string;
}

/**
 * The first such cycle behind `after`, held until the transaction ends; undefined: there is none that nobody holds. Only those that a person
 * cancelled: what waits of the others is its rule's to judge, which is gone or off.
 */
export async function takeCancelledCycle(tx: Tx, { after }: { after: string }): Promise<CancelledCycle | undefined> {
  const { rows } = await tx.execute<{ id: string; line_oa_id: string }>(sql`
    select id, line_oa_id from scheduled_trigger_execution
     where status = 'cancelled' and not swept and reason_code = 'by_person' and id > ${after} order by id limit 1
       for no key update skip locked`);
  const [row] = rows;
  if (row === undefined) return undefined;
  return { executionId: row.id, lineOaId: row.line_oa_id, dedupPrefix: cycleDedupKey(row.id, '') };
}

/** Leaves it alone from now on, unless something of it still waits, or is being decided and may wait again. What a person brought back may. */
export async function markSwept(tx: Tx, { executionId }: Pick<CancelledCycle, 'executionId'>): Promise<void> {
  await tx.execute(sql`
    update scheduled_trigger_execution as cycle
       set swept = not exists (select from ${actionsOf('cycle')} and action.status in ('pending', 'processing') and action.gen = 0)
     where id = ${executionId}`);
}
