import { type Db, makePartitions, type Pruned, partitionStates, prunePartitions, type Retention } from '@dueline/db';
import { TransientError } from '@dueline/kernel';
import type { Log } from '@dueline/mq';
import type { Metrics } from '@dueline/runtime';

interface PartitionDeps {
  readonly db: Db;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly retention: Retention;
}

/**
 * Makes the months of history that are missing and drops those that are older than they are kept. A month that cannot be made or dropped
 * because somebody reads is left to the next call; that the next month is missing is told as an error.
 */
export function keepPartitions({ db, log, metrics, retention }: PartitionDeps): () => Promise<void> {
  const dropped = metrics.counter({
    name: 'dueline_partitions_dropped_total',
    help: 'Months of history that were dropped because they are older than they are kept.',
    labels: ['table'],
  });
  metrics.gauge({
    name: 'dueline_partition_months_ahead',
    help: 'Months behind the current one that have their partition, without a gap; -1: the current one has none.',
    labels: ['table'],
    collect: async (gauge) => {
      for (const { table, monthsAhead } of await partitionStates(db)) gauge.set({ table }, monthsAhead);
    },
  });
  metrics.gauge({
    name: 'dueline_partition_rows_outside',
    help: 'Rows of history that are in no month, 10,000 at most: their clock was wrong, or nobody made their month.',
    labels: ['table'],
    collect: async (gauge) => {
      for (const { table, rowsOutside } of await partitionStates(db)) gauge.set({ table }, rowsOutside);
    },
  });
  return async () => {
    await make({ db, log });
    for (const { table, monthsAhead } of await partitionStates(db)) {
      if (monthsAhead < 1) log.error({ table, monthsAhead }, 'the next month of a table has no partition');
    }
    for (const pruned of await prunePartitions(db, retention)) {
      dropped.inc({ table: pruned.table }, pruned.dropped.length);
      tell(log, pruned);
    }
  };
}

async function make({ db, log }: Pick<PartitionDeps, 'db' | 'log'>): Promise<void> {
  try {
    await makePartitions(db);
  } catch (error) {
    if (!(error instanceof TransientError)) throw error;
    log.warn({ err: error }, 'partitions could not be made now; it is tried again');
  }
}

function tell(log: Log, { table, dropped, left }: Pruned): void {
  if (dropped.length > 0) log.info({ table, dropped }, 'old months were dropped');
  if (left === 'waits') log.info({ table }, 'an old month is being read; it is dropped later');
  if (left === 'gap')
    log.warn({ table }, 'months are missing in between: nothing is dropped, because the clock may be wrong');
}
