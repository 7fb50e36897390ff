import { column, sql, type Tx } from '@dueline/db';

/** A person, and a rule under which something may wait for them. */
export interface Entry {
  readonly triggerRuleId: string;
  readonly userId: string;
}

/**
 * For which of these something waits, or is being decided, under that rule; in order. Locks nothing: whoever must not make a second row
 * besides gives both an `openKey`.
 */
export async function findOpen(tx: Tx, entries: readonly Entry[]): Promise<boolean[]> {
  if (entries.length === 0) return [];
  const { rows } = await tx.execute<{ n: number }>(sql`
    select entry.n::int as n
      from unnest(${column(
        entries.map(({ triggerRuleId }) => triggerRuleId),
        'bigint',
      )},
                  ${column(
                    entries.map(({ userId }) => userId),
                    'text',
                  )}) with ordinality as entry (trigger_rule_id, user_id, n)
     where exists (select from scheduled_action as action
                    where action.user_id = entry.user_id and action.trigger_rule_id = entry.trigger_rule_id
                      and action.status in ('pending', 'processing'))`);
  const open = new Set(rows.map(({ n }) => n));
  return entries.map((_, at) => open.has(at + 1));
}
