import {
  column,
  type Db,
  type DeadHands,
  dropLeftInHand,
  inTransaction,
  type LeftInHand,
  leftInHand,
  sql,
  type Tx,
} from '@dueline/db';

/** What dead processes had in hand: rows alone, which count a death, and rows among others, which are decided alone from now on. */
export interface Recovered {
  readonly deaths: number;
  readonly suspects: number;
}

/**
 * Writes down what dead processes had in hand. A row that was alone in one: pending again under a new fence, with a death counted,
 * and the try given back the first time. Rows among others: none is accused, each is decided alone from now on. A row that was decided
 * in the meantime is left alone. Locks in id order, and waits for the transactions that hold them.
 */
export async function recoverActionsInHand(db: Db, dead: DeadHands): Promise<Recovered> {
  let [deaths, suspects] = [0, 0];
  for (const left of await leftInHand(db, 'action', dead)) {
    await inTransaction(db, async (tx) => {
      const ids = column(left.ids, 'bigint');
      await tx.execute(sql`select from scheduled_action where id = any(${ids}) order by id for no key update`);
      if (!(await dropLeftInHand(tx, left, { kind: 'action', dead }))) return;
      if (left.ids.length === 1) deaths += await countDeath(tx, left);
      else suspects += await suspectActions(tx, left.ids);
    });
  }
  return { deaths, suspects };
}

async function countDeath(tx: Tx, { ids }: LeftInHand): Promise<number> {
  const { rowCount } = await tx.execute(sql`
    update scheduled_action
       set status = 'pending',
           fence = fence + 1,
           alone = true,
           rescue_count = rescue_count + 1,
           attempt = attempt - case when status = 'processing' and rescue_count = 0 then 1 else 0 end,
           lease_until = null,
           last_error = 'the process that decided it died',
           updated_at = clock_timestamp()
     where id = any(${column(ids, 'bigint')}) and status in ('pending', 'processing')`);
  return rowCount ?? 0;
}

/** Those of the rows that have not ended: a message that comes back long after its commit need not look at each of its rows alone. */
export async function stillOpen(db: Db | Tx, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await db.execute<{ id: string }>(sql`
    select id from scheduled_action where id = any(${column(ids, 'bigint')}) and status in ('pending', 'processing')`);
  return new Set(rows.map(({ id }) => id));
}

/**
 * From now on each of these rows is decided alone, whatever its fence: it was in hand when a process may have died. Locks in id
 * order. Returns how many were not suspected before.
 */
export async function suspectActions(db: Db | Tx, ids: readonly string[]): Promise<number> {
  const { rowCount } = await db.execute(sql`
    with held as materialized (
      select id from scheduled_action
       where id = any(${column(ids, 'bigint')}) and status in ('pending', 'processing') and not alone
       order by id
         for no key update
    )
    update scheduled_action as action set alone = true, updated_at = clock_timestamp() from held where action.id = held.id`);
  return rowCount ?? 0;
}
