import { chunk } from '@dueline/kernel';
import { Logger, makeWorkerUtils, run, type WorkerUtils } from 'graphile-worker';
import { inLanes, lazily } from './calls.ts';
import { type Payload, payloadOf } from './payload.ts';
import type { Job, Mode, Peer, PeerUrls } from './peer.ts';
import { copyRow, count, MONTH_MS, openPool, settleTables, WAITING_UNTIL } from './postgres.ts';
import { versionOf } from './version.ts';

const SCHEMA = 'bench_graphile_worker';
const TASK = 'act';
const PER_CALL = 1_000;

/** `tuned` is the preset of its page "Performance"; a local queue would only add to the lateness of `late`. */
const OPTIONS: Readonly<Record<Mode, GraphileConfig.WorkerOptions>> = {
  default: {},
  tuned: {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
  late: { concurrentJobs: 24, maxPoolSize: 25, pollInterval: 100 },
};

const logger = new Logger(() => (level, message) => {
  if (level === 'error') console.error(message);
});

const specOf = (job: Job) => ({ identifier: TASK, payload: payloadOf(job), runAt: new Date(job.dueAt) });

/** graphile-worker: rows of PostgreSQL, deleted when they are done. */
export function createGraphileWorkerPeer({ databaseUrl }: PeerUrls): Peer {
  const pool = openPool(databaseUrl);
  const utils = lazily<WorkerUtils>(
    () => makeWorkerUtils({ pgPool: pool, schema: SCHEMA, logger }),
    async (opened) => opened.release(),
  );
  const addMany = async (jobs: readonly Job[]): Promise<void> => {
    const { addJobs } = await utils.get();
    for (const some of chunk(jobs, PER_CALL)) await addJobs(some.map(specOf));
  };
  return {
    name: 'graphile-worker',
    describe: (mode) => `graphile-worker ${versionOf('graphile-worker')} ${JSON.stringify(OPTIONS[mode])}`,
    reset: async () => {
      await pool.query(`drop schema if exists ${SCHEMA} cascade`);
      await (await utils.get()).migrate();
    },
    addMany,
    addSingly: async (jobs, concurrency) => {
      const { addJob } = await utils.get();
      await inLanes(jobs.map(specOf), concurrency, ({ identifier, payload, runAt }) =>
        addJob(identifier, payload, { runAt }),
      );
    },
    addWaiting: async (waiting) => {
      if (waiting === 0) return;
      await addMany([{ n: 0, dueAt: Date.now() + MONTH_MS }]);
      const where = `run_at > now() + interval '1 day'`;
      await copyRow(pool, { table: `${SCHEMA}._private_jobs`, where, vary: { run_at: WAITING_UNTIL } }, waiting - 1);
    },
    settle: () => settleTables(pool, SCHEMA),
    work: async (mode, onJob) => {
      const runner = await run({
        ...{ logger, noHandleSignals: true, parsedCronItems: [] },
        taskList: { [TASK]: (payload) => onJob(payload as Payload) },
        preset: { worker: { connectionString: databaseUrl, schema: SCHEMA, ...OPTIONS[mode] } },
      });
      return () => runner.stop();
    },
    left: () => count(pool, `select count(*) from ${SCHEMA}._private_jobs where run_at <= now()`),
    waiting: () => count(pool, `select count(*) from ${SCHEMA}._private_jobs where run_at > now()`),
    close: async () => {
      await utils.close();
      await pool.end();
    },
  };
}
