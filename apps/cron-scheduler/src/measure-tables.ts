import { countTableRows } from '@dueline/db';
import type { Worker } from '@dueline/worker-app';

/** The tables whose rows change again and again. */
const HOT = [
  'event_outbox',
  'scheduled_action',
  'delivery',
  'campaign',
  'campaign_chunk',
  'scheduled_trigger_execution',
];

/** Shows how much of the tables that change most is dead: claims step over it until it is vacuumed. */
export function measureTables({ db, metrics }: Pick<Worker, 'db' | 'metrics'>): void {
  metrics.gauge({
    name: 'dueline_table_rows',
    help: 'Rows of a table that changes much, live or dead and not vacuumed yet, as PostgreSQL estimates them.',
    labels: ['table', 'state'],
    collect: async (gauge) => {
      for (const { table, live, dead } of await countTableRows(db, HOT)) {
        gauge.set({ table, state: 'live' }, live);
        gauge.set({ table, state: 'dead' }, dead);
      }
    },
  });
}
