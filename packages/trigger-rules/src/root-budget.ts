import type { Tenant } from '@dueline/contracts';
import { column, sql, type Tx } from '@dueline/db';

/** How many decisions may go back to one event, over everything that actions caused. Ours: ten in depth, and ten side by side. */
export const MAX_DECISIONS_PER_ROOT = 100;
/** How long a root is remembered after its last decision: longer than what waits in one chain usually does. */
const ROOT_DAYS = 90;
/** Old roots that whoever writes one takes away. */
const ROOTS_TO_FORGET = 20;

/** A decision about to be taken because of a change that an action made. */
export interface CausedDecision extends Tenant {
  readonly rootId: string;
}

/**
 * Counts these decisions for the events that they go back to, and says of each, in order, whether it is within the budget. Locks the
 * roots, in order: two transactions cannot both have the last.
 */
export async function spendRootBudget(tx: Tx, decisions: readonly CausedDecision[]): Promise<boolean[]> {
  if (decisions.length === 0) return [];
  const byRoot = Object.groupBy(decisions, ({ rootId }) => rootId);
  const roots = Object.values(byRoot).flatMap((of) => {
    const [first] = of ?? [];
    return first === undefined ? [] : [{ ...first, count: of?.length ?? 0 }];
  });
  const col = (read: (root: (typeof roots)[number]) => string | number, type: 'uuid' | 'bigint' | 'integer') =>
    column(roots.map(read), type);
  const { rows } = await tx.execute<{ root_id: string; decisions: number }>(sql`
    with forgotten as (
      delete from root_budget where root_id in (
        select root_id from root_budget where last_at < app_now() - make_interval(days => ${ROOT_DAYS})
           and root_id <> all(${col(({ rootId }) => rootId, 'uuid')})
         order by last_at limit ${ROOTS_TO_FORGET} for update skip locked)
    )
    insert into root_budget as budget (root_id, organization_id, line_oa_id, decisions)
    select * from unnest(${col(({ rootId }) => rootId, 'uuid')}, ${col(({ organizationId }) => organizationId, 'bigint')},
                         ${col(({ lineOaId }) => lineOaId, 'bigint')}, ${col(({ count }) => count, 'integer')})
                    as spent (root_id, organization_id, line_oa_id, decisions)
     order by root_id
        on conflict (root_id) do update
       set decisions = least(budget.decisions + excluded.decisions, 1000000), last_at = app_now()
    returning root_id, decisions`);
  const left = new Map(
    rows.map(({ root_id, decisions: now }) => [
      root_id,
      MAX_DECISIONS_PER_ROOT - (now - (byRoot[root_id]?.length ?? 0)),
    ]),
  );
  return decisions.map(({ rootId }) => {
    const room = left.get(rootId) ?? 0;
    left.set(rootId, room - 1);
    return room > 0;
  });
}
