import { sql } from 'drizzle-orm';
import { column } from './batch.ts';
import type { Db, Tx } from './open.ts';

/** The table whose rows are in hand. */
export type InHandKind = 'action' | 'event';

/** Whose hand counts as dead: that of earlier boots of this very instance, or any whose lease is over. */
export type DeadHands = { readonly earlierBootsOf: string } | { readonly leaseOver: true };

/** What a process had in hand when it died. */
export interface LeftInHand {
  readonly claimedBy: string;
  readonly ids: readonly string[];
}

/**
 * Says, beside the transaction that decides them and committed before it, which rows this process is about to decide: should it
 * die of one, it is known of which. What it said before is replaced. The commit does not wait for the disk, because only the death of
 * the process has to be survived: a database that dies takes the decision with it.
 *
 * @param options.claimedBy `<instance>:<boot>`.
 * @param options.leaseSeconds After which its silence counts as death, in seconds of process time.
 * @returns Those of the rows that another process still has in hand; true: that row alone.
 */
export async function takeInHand(
  db: Db,
  hand: {
    readonly claimedBy: string;
    readonly kind: InHandKind;
    readonly ids: readonly string[];
    readonly leaseSeconds: number;
  },
): Promise<ReadonlyMap<string, boolean>> {
  const ids = column(hand.ids, 'bigint');
  const { rows } = await db.execute<{ id: string; sole: boolean }>(sql`
    with quick as materialized (select set_config('synchronous_commit', 'off', true)),
    mine as (
      insert into batch_in_hand (claimed_by, kind, ids, lease_until)
      select ${hand.claimedBy}, ${hand.kind}, ${ids}, clock_timestamp() + make_interval(secs => ${hand.leaseSeconds}) from quick
          on conflict (claimed_by) do update set kind = excluded.kind, ids = excluded.ids, lease_until = excluded.lease_until
    )
    select mine.id, bool_or(other.sole) as sole
      from unnest(${ids}) as mine (id)
      full join (select unnest(ids) as id, sole
                   from (select ids, cardinality(ids) = 1 as sole from batch_in_hand
                          where claimed_by <> ${hand.claimedBy} and kind = ${hand.kind}
                         offset 0) as hand) as other on other.id = mine.id -- offset: else each list is counted once for each of its rows
     where coalesce(mine.id, 0) <> 0 and coalesce(other.id, 0) <> 0 -- so that the join stays a full one, which is never a nested loop
     group by mine.id`);
  return new Map(rows.map(({ id, sole }) => [id, sole]));
}

/** Nothing is in hand any more; in the transaction that decided it, or after that failed and the process lives. */
export async function letGoOfHand(db: Db | Tx, claimedBy: string): Promise<void> {
  await db.execute(sql`delete from batch_in_hand where claimed_by = ${claimedBy}`);
}

/** What dead processes left in hand, one entry for each. */
export async function leftInHand(db: Db, kind: InHandKind, dead: DeadHands): Promise<LeftInHand[]> {
  const { rows } = await db.execute<{ claimed_by: string; ids: string[] }>(sql`
    select claimed_by, ids::text[] as ids from batch_in_hand where kind = ${kind} and ${isDead(dead)} order by claimed_by limit 500`);
  return rows.map(({ claimed_by, ids }) => ({ claimedBy: claimed_by, ids }));
}

/** Removes it, for the transaction that writes down what it is evidence of and has locked its rows. False: it is gone, its process lived. */
export async function dropLeftInHand(
  tx: Tx,
  { claimedBy, ids }: LeftInHand,
  { kind, dead }: { kind: InHandKind; dead: DeadHands },
): Promise<boolean> {
  const { rowCount } = await tx.execute(sql`
    delete from batch_in_hand
     where claimed_by = ${claimedBy} and kind = ${kind} and ids = ${column(ids, 'bigint')} and ${isDead(dead)}`);
  return rowCount === 1;
}

/** A boot id has no colon, an instance name may. */
function isDead(dead: DeadHands) {
  if ('leaseOver' in dead) return sql`lease_until < clock_timestamp()`;
  const instance = dead.earlierBootsOf.slice(0, dead.earlierBootsOf.lastIndexOf(':'));
  return sql`regexp_replace(claimed_by, ':[^:]*$', '') = ${instance} and claimed_by <> ${dead.earlierBootsOf}`;
}
