import type { Db } from '@dueline/db';
import type { Metrics } from '@dueline/runtime';

/** Shows the connections of this process to the database, as they are at each scrape. */
export function databaseMetrics(metrics: Metrics, { $client: pool }: Pick<Db, '$client'>): void {
  metrics.gauge({
    name: 'dueline_database_connections',
    help: 'Connections of this process to the database: `used` by work, `idle` and ready for it.',
    labels: ['state'],
    collect: (gauge) => {
      gauge.set({ state: 'used' }, pool.totalCount - pool.idleCount);
      gauge.set({ state: 'idle' }, pool.idleCount);
    },
  });
  metrics.gauge({
    name: 'dueline_database_waiting',
    help: 'Pieces of work that wait for a connection to the database, because all of this process are used.',
    collect: (gauge) => gauge.set(pool.waitingCount),
  });
}
