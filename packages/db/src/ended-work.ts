import { sql } from 'drizzle-orm';
import { column } from './batch.ts';
import { CANDIDATES, holdActions, holdDeliveries, KINDS_ALONE, KINDS_OF_ACTIONS, type Seen } from './ended-rows.ts';
import { type Db, inTransaction, type Tx } from './open.ts';
import { monthsOf, PARTITIONED_TABLES } from './partitions.ts';

const WALKS = ['scheduled_action', 'delivery'] as const;
type Walked = (typeof WALKS)[number];

/** Rows of a table that one transaction looks at: a few dozen milliseconds, so that nobody waits for it. */
const BATCH = 500;

/** What a call of {@link removeEndedWork} removed, in rows, and what it left. */
export interface RemovedWork {
  readonly rows: Readonly<Record<Walked | 'delivery_attempt', number>>;
  /** `more`: it looked at as many rows as it may, or was stopped, and the next call goes on there. */
  readonly left: 'nothing' | 'more';
}

/** How {@link removeEndedWork} goes about it. */
export interface Removal {
  /** The instant of product time, as PostgreSQL writes it, before which work must have ended. */
  readonly endedBefore: string;
  /** Rows of a table that are looked at, at most; a whole batch of 500 is finished. */
  readonly mostRows: number;
  /** Called between two batches with the milliseconds that the one before took; what it waits leaves the database to others. */
  readonly pause: (tookMs: number) => Promise<void>;
  /** No further batch begins. */
  readonly signal?: AbortSignal;
}

/**
 * The first instant from which ended work is kept: the month `keepMonths` whole months before this one, in UTC, and never later than the oldest
 * month of events that is still there, because what an event set off must be known for as long as it can be replayed. `nothing`: it is kept for ever.
 * `gap`: a month is missing among those since then that are to be there, in any of the tables that are split by months, so the clock may have jumped.
 */
export async function endedWorkIsKeptFrom(
  db: Db,
  keepMonths: number,
): Promise<{ readonly endedBefore: string } | 'nothing' | 'gap'> {
  if (keepMonths === 0) return 'nothing';
  return inTransaction(db, async (tx) => {
    let oldestKept = -keepMonths;
    for (const table of PARTITIONED_TABLES) {
      const months = await monthsOf(tx, table);
      const oldest = Math.min(...months);
      for (let month = Math.max(-keepMonths, Math.min(oldest, 0)); month <= 0; month += 1)
        if (!months.has(month)) return 'gap';
      if (table === 'event_archive') oldestKept = Math.min(oldestKept, oldest);
    }
    const { rows } = await tx.execute<{ at: string }>(sql`
      select ((date_trunc('month', app_now() at time zone 'UTC') + make_interval(months => ${oldestKept}::int)) at time zone 'UTC')::text as at`);
    const [row] = rows;
    if (row === undefined) throw new Error('the first month that is kept has no beginning');
    return { endedBefore: row.at };
  });
}

/**
 * Removes actions that ended before an instant, each with all of its deliveries and their attempts, and deliveries of their own (of what happened
 * at once, and tests of campaigns), if all of them ended before it too. Left alone is what an open attention item, a wish for a menu or a cycle
 * that is not over for as long refers to, and what somebody holds at this moment; deliveries of campaigns always.
 *
 * Each table is walked once by its primary key for each instant, in batches that commit apart, up to the rows that are younger than it. Killed
 * anywhere, the next call goes on. Any number of processes may call it at once: a batch is removed by one of them.
 *
 * @throws TransientError when the database was not ready.
 */
export async function removeEndedWork(db: Db, removal: Removal): Promise<RemovedWork> {
  const rows = { scheduled_action: 0, delivery: 0, delivery_attempt: 0 };
  let left: RemovedWork['left'] = 'nothing';
  for (const table of WALKS) {
    const onBatch = (batch: Batch) => {
      rows.scheduled_action += batch.actions;
      rows.delivery += batch.deliveries;
      rows.delivery_attempt += batch.attempts;
    };
    if ((await walk(db, table, { ...removal, onBatch })) === 'more') left = 'more';
  }
  return { rows, left };
}

/** What one transaction did. */
interface Batch {
  readonly looked: number;
  readonly actions: number;
  readonly deliveries: number;
  readonly attempts: number;
  readonly isLast: boolean;
}

async function walk(
  db: Db,
  table: Walked,
  { endedBefore, mostRows, pause, signal, onBatch }: Removal & { onBatch: (batch: Batch) => void },
): Promise<RemovedWork['left']> {
  for (let looked = 0; looked < mostRows; ) {
    if (signal?.aborted) return 'more';
    const startedAt = performance.now();
    const batch = await inTransaction(db, (tx) => removeBatch(tx, table, endedBefore));
    if (batch === undefined) return 'nothing';
    onBatch(batch);
    if (batch.isLast) return 'nothing';
    looked += batch.looked;
    await pause(performance.now() - startedAt);
  }
  return 'more';
}

/** Undefined: another process is at it, or the table was walked for this instant already. */
async function removeBatch(tx: Tx, table: Walked, wanted: string): Promise<Batch | undefined> {
  await tx.execute(sql`select set_config('enable_seqscan', 'off', true)`); // statistics may not know yet how long the table is
  const at = await takeWalk(tx, table, wanted);
  if (at === undefined) return undefined;
  const { rows: seen } = await tx.execute<Seen>(CANDIDATES[table]({ ...at, limit: BATCH }));
  const isLast = seen.length < BATCH || seen.every(({ is_younger }) => is_younger);
  const old = seen.filter(({ is_old }) => is_old);
  const removed = await (table === 'delivery' ? removeDeliveries : removeActions)(tx, old, at.endedBefore);
  await tx.execute(sql`
    update removal_walk set ended_before = ${at.endedBefore}::timestamptz, after_id = ${isLast ? null : (seen.at(-1)?.id ?? null)}::bigint
     where table_name = ${table}`);
  return { ...removed, looked: seen.length, isLast };
}

/**
 * Where to go on. A walk that was begun goes on for the instant for which it was begun, unless that is later than the one that is wanted now (the
 * clock was wrong, or more is to be kept): then it begins anew.
 */
async function takeWalk(
  tx: Tx,
  table: Walked,
  wanted: string,
): Promise<{ endedBefore: string; afterId: string } | undefined> {
  const { rows } = await tx.execute<{
    ended_before: string;
    after_id: string | null;
    goes_on: boolean;
    is_done: boolean;
  }>(sql`
    select ended_before::text, after_id, coalesce(after_id is not null and ended_before <= ${wanted}::timestamptz, false) as goes_on,
           coalesce(after_id is null and ended_before >= ${wanted}::timestamptz, false) as is_done
      from removal_walk where table_name = ${table}
       for update skip locked`);
  const [row] = rows;
  if (row === undefined || row.is_done) return undefined;
  if (row.goes_on && row.after_id !== null) return { endedBefore: row.ended_before, afterId: row.after_id };
  return { endedBefore: wanted, afterId: '0' };
}

async function removeActions(tx: Tx, old: readonly Seen[], endedBefore: string) {
  const held = await holdActions(tx, { ids: old.map(({ id }) => id), endedBefore });
  const { stay, deliveryIds } = await holdDeliveries(tx, { logicalIds: held, kinds: KINDS_OF_ACTIONS, endedBefore });
  return remove(tx, { actionIds: held.filter((id) => !stay.has(id)), deliveryIds });
}

async function removeDeliveries(tx: Tx, old: readonly Seen[], endedBefore: string) {
  const logicalIds = [...new Set(old.map(({ logical_id }) => logical_id))];
  const { deliveryIds } = await holdDeliveries(tx, { logicalIds, kinds: KINDS_ALONE, endedBefore });
  return remove(tx, { actionIds: [], deliveryIds });
}

async function remove(
  tx: Tx,
  { actionIds, deliveryIds }: { actionIds: readonly string[]; deliveryIds: readonly string[] },
): Promise<Pick<Batch, 'actions' | 'deliveries' | 'attempts'>> {
  const counts = { actions: actionIds.length, deliveries: deliveryIds.length };
  if (counts.actions + counts.deliveries === 0) return { ...counts, attempts: 0 };
  const { rows } = await tx.execute<{ attempts: number }>(sql`
    select remove_ended_work(${column(actionIds, 'bigint')}, ${column(deliveryIds, 'bigint')}) as attempts`);
  return { ...counts, attempts: rows[0]?.attempts ?? 0 };
}
