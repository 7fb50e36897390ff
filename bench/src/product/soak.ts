import { readFileSync } from 'node:fs';
import { actionExecute } from '@dueline/contracts';
import { column, inTransaction, removeEndedWork, sql } from '@dueline/db';
import { sleep } from '@dueline/kernel';
import { DONE } from '@dueline/mq';
import { scheduleMany } from '@dueline/scheduled-actions';
import { connectTo } from './broker.ts';
import type { Product } from './product.ts';
import type { Running } from './running.ts';
import { actionOf } from './write.ts';

/** How the product stands at a moment of the soak. */
export interface Reading {
  readonly atSeconds: number;
  /** Resident memory of each app, in MiB. */
  readonly memory: Readonly<Record<string, number>>;
  readonly connections: number;
  /** scheduled_action and delivery with their indexes, in MiB; history grows by design and is not counted. */
  readonly tables: number;
  /** The partial indexes of what is open, in MiB. */
  readonly openIndexes: number;
  /** Actions that are due and not decided. */
  readonly due: number;
}

const WRITE_EVERY_MS = 250;
/** From the scheduling of an action to its time. */
export const DELAY_SECONDS = 2;
const KEEP_SECONDS = 30;
const BATCH = 500;

/** Schedules so many actions a second, due two seconds later, until it is told to stop. @returns How many. */
export async function writeSteadily(product: Product, perSecond: number, stop: AbortSignal): Promise<number> {
  const startedAt = performance.now();
  let written = 0;
  while (!stop.aborted) {
    const wanted = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond);
    for (; written < wanted && !stop.aborted; ) {
      const size = Math.min(BATCH, wanted - written);
      const actions = Array.from({ length: size }, (_, at) => actionOf(product, written + at, DELAY_SECONDS));
      await inTransaction(product.database.db, (tx) => scheduleMany(tx, actions));
      written += size;
    }
    await sleep(WRITE_EVERY_MS, stop);
  }
  return written;
}

/** Takes each message off its queue, as LINE would; and removes what ended half a minute ago, as cron-scheduler does after months. */
export interface Drain {
  /** Different messages that arrived, and how many arrived again. */
  readonly counts: { arrived: number; again: number };
  /** Resolves when every message that was published has arrived. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export async function drainSteadily(product: Product): Promise<Drain> {
  const broker = await connectTo(product);
  const counts = { arrived: 0, again: 0 };
  const consumer = broker.consume(
    actionExecute,
    async ({ data }) => {
      const ids = data.tickets.map(({ id }) => id);
      const removed = await removeDeliveries(product, ids);
      counts.arrived += removed;
      counts.again += ids.length - removed;
      return DONE;
    },
    { concurrency: 8 },
  );
  const stopping = new AbortController();
  const removing = removeEnded(product, stopping.signal);
  return {
    counts,
    settled: () => broker.settled(),
    stop: async () => {
      stopping.abort();
      await removing;
      await consumer.drain();
      await broker.close();
    },
  };
}

/** A message that was taken is gone: one that comes again finds none. */
const removeDeliveries = (product: Product, ids: readonly string[]): Promise<number> =>
  inTransaction(product.database.db, async (tx) => {
    const { rowCount } = await tx.execute(sql`delete from delivery where id = any(${column(ids, 'bigint')})`);
    return rowCount ?? 0;
  });

async function removeEnded({ database: { db } }: Product, stop: AbortSignal): Promise<void> {
  const pause = async (): Promise<void> => undefined; // the second between the walks is enough
  while (!stop.aborted) {
    const { rows } = await db.execute<{ at: string }>(
      sql`select (app_now() - make_interval(secs => ${KEEP_SECONDS}))::text as at`,
    );
    const [row] = rows;
    if (row === undefined) throw new Error('the clock gave no row');
    await removeEndedWork(db, { endedBefore: row.at, mostRows: Number.MAX_SAFE_INTEGER, pause, signal: stop });
    await sleep(1_000, stop);
  }
}

export async function read(product: Product, { apps }: Running, atSeconds: number): Promise<Reading> {
  const { rows } = await product.database.db.$client.query<
    Record<'connections' | 'tables' | 'indexes' | 'due', number>
  >(`
    select (select count(*)::int from pg_stat_activity where datname = current_database()) as connections,
           ((pg_total_relation_size('scheduled_action') + pg_total_relation_size('delivery')) / 1048576.0)::float8 as tables,
           (select sum(pg_relation_size(indexrelid)) / 1048576.0 from pg_index
             where indrelid = 'scheduled_action'::regclass and indpred is not null)::float8 as indexes,
           (select count(*)::int from scheduled_action where status = 'pending' and execute_at <= app_now()) as due`);
  const row = rows[0];
  if (row === undefined) throw new Error('reading gave no row');
  const memory = Object.fromEntries(apps.map(({ name, child }) => [name, residentMib(child.pid ?? 0)]));
  return {
    atSeconds,
    memory,
    connections: row.connections,
    tables: row.tables,
    openIndexes: row.indexes,
    due: row.due,
  };
}

function residentMib(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1_024;
}
