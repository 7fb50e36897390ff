import { sql } from 'drizzle-orm';
import { errorCode } from './errors.ts';
import { type Db, inTransaction, type Tx } from './open.ts';
import { PARTITIONED_TABLES, type PartitionedTable } from './partitions.ts';

/** Whole months of product time for which rows are kept at least; 0: for ever. Each table that is split by months. */
export type Retention = Readonly<Record<PartitionedTable, number>>;

/**
 * What became of the old months of a table. `waits`: somebody reads the table and would be in the way of everybody for longer than a
 * quarter of a second: try again later. `gap`: not all of the months to be kept are there, so the clock may have jumped; nothing is pruned.
 */
export interface Pruned {
  readonly table: PartitionedTable;
  /** The names of the months that are gone. */
  readonly dropped: readonly string[];
  readonly left: 'nothing' | 'waits' | 'gap';
}

/** How long writers and readers of a table may queue behind us. Ours: less than a person notices. */
const LOCK_TIMEOUT = '250ms';
const LOCK_NOT_AVAILABLE = '55P03';
/** The end of the name of a month that is detached and not dropped yet. */
const DETACHED = '_pruned';

/**
 * Drops the months whose rows are all older than `retention` says, oldest first: each is detached, which changes the catalog only, and
 * dropped when nobody finds it any more. Killed anywhere, the next call goes on. Any number of processes may call it at once.
 *
 * A clock that jumped ahead makes everything look old. So nothing is dropped unless every month that is to be kept is there: they are made one
 * after the other as time goes by, and a jump leaves a gap.
 */
export async function prunePartitions(db: Db, retention: Retention): Promise<Pruned[]> {
  const all: Pruned[] = [];
  for (const table of PARTITIONED_TABLES) all.push(await pruneTable(db, table, retention[table]));
  return all;
}

async function pruneTable(db: Db, table: PartitionedTable, keepMonths: number): Promise<Pruned> {
  const dropped: string[] = [];
  for (;;) {
    const detached = await dropDetached(db, table);
    if (detached === 'waits') return { table, dropped, left: detached };
    dropped.push(...detached);
    const next = await unlessLocked(db, (tx) => detachOldest(tx, table, keepMonths));
    if (next !== 'detached') return { table, dropped, left: next };
  }
}

/** Drops what this or an earlier call has detached. */
async function dropDetached(db: Db, table: PartitionedTable): Promise<string[] | 'waits'> {
  const { rows } = await db.execute<{ name: string }>(sql`
    select relname::text as name from pg_class
     where relkind = 'r' and not relispartition and relnamespace = (select relnamespace from pg_class where oid = ${table}::regclass)
       and relname ~ ('^' || ${table} || '_[0-9]{4}_[0-9]{2}' || ${DETACHED} || '$') order by relname`);
  for (const { name } of rows) {
    const result = await unlessLocked(db, (tx) => tx.execute(sql`select drop_history_month(${name})`));
    if (result === 'waits') return result;
  }
  return rows.map(({ name }) => name.slice(0, -DETACHED.length));
}

async function detachOldest(tx: Tx, table: PartitionedTable, keepMonths: number): Promise<'detached' | Pruned['left']> {
  if (keepMonths === 0) return 'nothing';
  const { rows } = await tx.execute<{ became: 'detached' | 'nothing' | 'gap' }>(
    sql`select detach_history_month(${table}, ${keepMonths}::int) as became`,
  );
  return rows[0]?.became ?? 'nothing';
}

/** Does `work` in a transaction that waits for no lock longer than the others shall wait for it. */
async function unlessLocked<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T | 'waits'> {
  let isLocked = false;
  try {
    return await inTransaction(db, async (tx) => {
      await tx.execute(sql`select set_config('lock_timeout', ${LOCK_TIMEOUT}, true)`);
      try {
        return await work(tx);
      } catch (error) {
        isLocked = errorCode(error) === LOCK_NOT_AVAILABLE;
        throw error;
      }
    });
  } catch (error) {
    if (isLocked) return 'waits';
    throw error;
  }
}
