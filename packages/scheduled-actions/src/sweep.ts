import { sql, type Tx } from '@dueline/db';
import { type ActionRow, parseAction, type StoredAction } from './action-row.ts';
import { cancelHeld } from './cancelled.ts';

/**
 * pending -> cancelled for at most 500 rows whose rule is deleted, in id order; rows that somebody holds are left for the next
 * call. The caller writes their history in the same transaction, and calls again until it gets none.
 */
export async function cancelOfDeletedRules(tx: Tx): Promise<StoredAction[]> {
  const { rows } = await tx.execute<ActionRow>(sql`
    with left_over as materialized (
      select waiting.id
        from trigger_rule as rule
       cross join lateral (select id from scheduled_action where trigger_rule_id = rule.id and status = 'pending' order by id limit 500) as waiting
       where rule.deleted_date is not null
       order by waiting.id limit 500
    ), held as materialized (
      select id from scheduled_action
       where id = any(array(select id from left_over)) and status = 'pending'
       order by id
         for no key update skip locked
    )
    ${cancelHeld('rule_deleted')}`);
  return rows.map(parseAction);
}

/**
 * pending -> cancelled for at most 500 rows of a cycle that was cancelled, by what their dedup_keys begin with; rows that somebody holds are left
 * for the next call, and what a person brought back is left alone. The caller writes their history in the same transaction, and calls again until it gets none.
 */
export async function cancelOfCycle(
  tx: Tx,
  { lineOaId, dedupPrefix }: { lineOaId: string; dedupPrefix: string },
): Promise<StoredAction[]> {
  const { rows } = await tx.execute<ActionRow>(sql`
    with left_over as materialized (
      select id from scheduled_action
       where line_oa_id = ${lineOaId} and dedup_key > ${dedupPrefix} and dedup_key < ${`${dedupPrefix}\u{10ffff}`} and status = 'pending' and gen = 0
       limit 500
    ), held as materialized (
      select id from scheduled_action
       where id = any(array(select id from left_over)) and status = 'pending' and gen = 0
       order by id
         for no key update skip locked
    )
    ${cancelHeld('cycle_cancelled')}`);
  return rows.map(parseAction);
}
