import { type SQL, sql } from 'drizzle-orm';
import { column } from './batch.ts';
import { cycleIdOfAction } from './cycle-key.ts';
import type { Tx } from './open.ts';

/** A row that a walk passed. */
export type Seen = {
  id: string;
  /** The name that it shares with the other requests of its send; of an action its id. */
  logical_id: string;
  /** It ended before the instant, as far as the row itself tells. */
  is_old: boolean;
  /** It was made since the instant, and so cannot have ended before it: nor can what comes after it. One of a clock that was ahead is not. */
  is_younger: boolean;
};

interface Page {
  readonly endedBefore: string;
  readonly afterId: string;
  readonly limit: number;
}

/** Deliveries that an action made. */
export const KINDS_OF_ACTIONS = ['action'];
/** Deliveries that belong to no action and no campaign. */
export const KINDS_ALONE = ['event', 'test'];

const instantOf = (endedBefore: string): SQL => sql`${endedBefore}::timestamptz`;

const isYounger = (made: SQL, endedBefore: string): SQL =>
  sql`${made} >= ${instantOf(endedBefore)} and ${made} <= app_now() as is_younger`;

/** For how long a delivery goes on behind the instant until which it is worth sending: what is in doubt then is asked for under its key for 23 hours. */
const DOUBT = sql`interval '1 day'`;

/** Only what LINE accepted says when, in product time; of the others that is sure which comes after all that may be done about them. */
const deliveryEnded = (endedBefore: string): SQL => sql`(
  delivery.status in ('accepted', 'refused', 'split', 'unknown', 'expired', 'cancelled')
  and coalesce(delivery.accepted_at, delivery.deliver_until + ${DOUBT}) < ${instantOf(endedBefore)})`;

/** The next rows of a table by its primary key, whatever they are. */
export const CANDIDATES: Readonly<Record<'scheduled_action' | 'delivery', (page: Page) => SQL>> = {
  scheduled_action: ({ endedBefore, afterId, limit }) => sql`
    select id, id::text as logical_id, coalesce(executed_at < ${instantOf(endedBefore)}, false) as is_old,
           ${isYounger(sql`created_at`, endedBefore)}
      from scheduled_action where id > ${afterId}::bigint order by id limit ${limit}`,
  delivery: ({ endedBefore, afterId, limit }) => sql`
    select id, logical_id, kind = any(${column(KINDS_ALONE, 'text')}) and ${deliveryEnded(endedBefore)} as is_old,
           ${isYounger(sql`created_date`, endedBefore)}
      from delivery where id > ${afterId}::bigint order by id limit ${limit}`,
};

/** The cycle of a time-based rule that made an action is not over for as long: it counts its actions. */
const isOfLivingCycle = (endedBefore: string): SQL => sql`
  exists (select from scheduled_trigger_execution as cycle
           where cycle.id = ${cycleIdOfAction}
             and coalesce(cycle.completed_at, 'infinity') >= ${instantOf(endedBefore)})`;

/** Holds those of these actions that ended before the instant and that nothing living refers to, and that nobody else holds. @returns Their ids. */
export async function holdActions(
  tx: Tx,
  { ids, endedBefore }: { ids: readonly string[]; endedBefore: string },
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await tx.execute<{ id: string }>(sql`
    select id from scheduled_action as action
     where id = any(${column(ids, 'bigint')}) and executed_at < ${instantOf(endedBefore)}
       and not exists (select from attention_item where kind = 'action_failed' and ref_id = action.id::text and status = 'open')
       and not ${isOfLivingCycle(endedBefore)}
     order by id
       for update skip locked`);
  return rows.map(({ id }) => id);
}

type Held = { id: string; logical_id: string; goes: boolean };

/**
 * Holds all deliveries of these sends. A statement of its own behind the one that holds their actions, so that it sees what whoever held them
 * before made.
 *
 * @returns `stay`: the sends of which a delivery has not ended before the instant, is held by somebody else, or is referred to by something that
 *   stays. `deliveryIds`: those of all others.
 */
export async function holdDeliveries(
  tx: Tx,
  of: { logicalIds: readonly string[]; kinds: readonly string[]; endedBefore: string },
): Promise<{ stay: ReadonlySet<string>; deliveryIds: string[] }> {
  if (of.logicalIds.length === 0) return { stay: new Set(), deliveryIds: [] };
  const { rows } = await tx.execute<Held>(sql`
    with theirs as materialized (
      select id, logical_id from delivery
       where logical_id = any(${column(of.logicalIds, 'text')}) and kind = any(${column(of.kinds, 'text')})
    ), held as materialized (
      select delivery.id from delivery
       where delivery.id = any(array(select id from theirs)) and ${deliveryEnded(of.endedBefore)}
         and not exists (select from attention_item
                          where kind in ('delivery_unknown', 'delivery_refused') and ref_id = delivery.id::text and status = 'open')
         and not exists (select from rich_menu_wish where delivery_id = delivery.id)
       order by delivery.id
         for update of delivery skip locked
    )
    select theirs.id, logical_id, held.id is not null as goes from theirs left join held on held.id = theirs.id`);
  const stay = new Set(rows.filter(({ goes }) => !goes).map(({ logical_id }) => logical_id));
  return { stay, deliveryIds: rows.filter(({ logical_id }) => !stay.has(logical_id)).map(({ id }) => id) };
}
