import { type Db, endedWorkIsKeptFrom, removeEndedWork } from '@dueline/db';
import { sleep } from '@dueline/kernel';
import type { Log } from '@dueline/mq';
import type { Metrics } from '@dueline/runtime';

interface OldWorkDeps {
  readonly db: Db;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Whole months for which ended work is kept; 0: for ever. */
  readonly keepMonths: number;
  /** Rows of a table that one call looks at, at most. */
  readonly mostRows: number;
  /** No further batch begins. */
  readonly signal: AbortSignal;
}

/** Of the time in which old work is removed, the database is left alone for this many times as long as a batch took. */
const REST = 3;

/** Removes work that ended longer ago than it is kept, a part of it each time it is called. */
export function removeOldWork({ db, log, metrics, keepMonths, mostRows, signal }: OldWorkDeps): () => Promise<void> {
  const removed = metrics.counter({
    name: 'dueline_old_rows_removed_total',
    help: 'Rows of work that were removed because it ended longer ago than it is kept.',
    labels: ['table'],
    from0: { table: ['scheduled_action', 'delivery', 'delivery_attempt'] },
  });
  const pause = (tookMs: number) => sleep(tookMs * REST, signal);
  return async () => {
    const kept = await endedWorkIsKeptFrom(db, keepMonths);
    if (kept === 'nothing') return;
    if (kept === 'gap')
      return log.warn({}, 'months are missing in between: no old work is removed, because the clock may be wrong');
    const { rows, left } = await removeEndedWork(db, { ...kept, mostRows, pause, signal });
    for (const [table, count] of Object.entries(rows)) removed.inc({ table }, count);
    if (Object.values(rows).some((count) => count > 0)) log.info({ ...kept, rows, left }, 'old work was removed');
  };
}
