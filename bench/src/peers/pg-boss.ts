import { chunk } from '@dueline/kernel';
import { type ConstructorOptions, PgBoss, type WorkOptions } from 'pg-boss';
import { inLanes, lazily } from './calls.ts';
import { type Payload, payloadOf } from './payload.ts';
import type { Job, Mode, Peer, PeerUrls } from './peer.ts';
import { copyRow, count, MONTH_MS, openPool, settleTables, WAITING_UNTIL } from './postgres.ts';
import { versionOf } from './version.ts';

const SCHEMA = 'bench_pg_boss';
const QUEUE = 'act';
const PER_CALL = 1_000;

/** Half a second is the shortest interval that it takes; it wakes nobody for a job whose time is yet to come. */
const OPTIONS: Readonly<Record<Mode, WorkOptions>> = {
  default: {},
  tuned: { batchSize: 1_000, localConcurrency: 2, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
  late: { batchSize: 500, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
};

const STOP_TIMEOUT_MS = 20_000;

async function startBoss(options: ConstructorOptions): Promise<PgBoss> {
  const boss = new PgBoss({ schema: SCHEMA, schedule: false, ...options });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  return boss;
}

const insertOf = (job: Job) => ({ data: payloadOf(job), startAfter: new Date(job.dueAt) });

/** pg-boss: rows of PostgreSQL, kept for a week when they are done. */
export function createPgBossPeer({ databaseUrl }: PeerUrls): Peer {
  const pool = openPool(databaseUrl);
  const sender = lazily(
    () => startBoss({ connectionString: databaseUrl, max: 32, supervise: false }),
    (boss) => boss.stop({ graceful: false }),
  );
  const addMany = async (jobs: readonly Job[]): Promise<void> => {
    const boss = await sender.get();
    for (const some of chunk(jobs, PER_CALL)) await boss.insert(QUEUE, some.map(insertOf));
  };
  return {
    name: 'pg-boss',
    describe: (mode) => `pg-boss ${versionOf('pg-boss')} ${JSON.stringify(OPTIONS[mode])}`,
    reset: async () => {
      await sender.close(); // it remembers its queues
      await pool.query(`drop schema if exists ${SCHEMA} cascade`);
      await (await sender.get()).createQueue(QUEUE);
    },
    addMany,
    addSingly: async (jobs, concurrency) => {
      const boss = await sender.get();
      await inLanes(jobs.map(insertOf), concurrency, ({ data, startAfter }) => boss.send(QUEUE, data, { startAfter }));
    },
    addWaiting: async (waiting) => {
      if (waiting === 0) return;
      await addMany([{ n: 0, dueAt: Date.now() + MONTH_MS }]);
      const where = `name = '${QUEUE}' and start_after > now() + interval '1 day'`;
      const vary = { id: 'gen_random_uuid()', start_after: WAITING_UNTIL };
      await copyRow(pool, { table: `${SCHEMA}.job`, where, vary }, waiting - 1);
    },
    settle: () => settleTables(pool, SCHEMA),
    work: async (mode, onJob) => {
      const boss = await startBoss({ connectionString: databaseUrl });
      await boss.work<Payload>(QUEUE, OPTIONS[mode], async (jobs) => {
        for (const { data } of jobs) onJob(data);
      });
      return () => boss.stop({ graceful: true, timeout: STOP_TIMEOUT_MS });
    },
    left: () =>
      count(
        pool,
        `select count(*) from ${SCHEMA}.job where name = '${QUEUE}' and state < 'completed' and start_after <= now()`,
      ),
    waiting: () => count(pool, `select count(*) from ${SCHEMA}.job where name = '${QUEUE}' and start_after > now()`),
    close: async () => {
      await sender.close();
      await pool.end();
    },
  };
}
