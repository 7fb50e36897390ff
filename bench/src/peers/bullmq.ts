import { chunk, sleep } from '@dueline/kernel';
import { Queue, Worker, type WorkerOptions } from 'bullmq';
import { Redis } from 'ioredis';
import { inLanes, lazily } from './calls.ts';
import { type Payload, payloadOf } from './payload.ts';
import type { Job, Mode, Peer, PeerUrls } from './peer.ts';
import { MONTH_MS } from './postgres.ts';
import { versionOf } from './version.ts';

/** When Redis makes its log durable: each second, or before it answers. */
export type FsyncPolicy = 'everysec' | 'always';

const QUEUE = 'act';
const PER_CALL = 1_000;
const DAY_MS = 86_400_000;
/** BullMQ scores a delayed job by its time, with room for so many in each millisecond. */
const SCORES_PER_MS = 4_096;

const OPTIONS: Readonly<Record<Mode, Partial<WorkerOptions>>> = {
  default: {},
  tuned: { concurrency: 200 },
  late: { concurrency: 200 },
};

/** A delayed job whose time is `dueAt` to the millisecond, also when that is past already. */
function entryOf(job: Job) {
  const timestamp = Math.min(Date.now(), job.dueAt - 1);
  const opts = { timestamp, delay: job.dueAt - timestamp, removeOnComplete: true };
  return { name: QUEUE, data: payloadOf(job), opts };
}

/** A delayed job up to this score is due. */
const scoreNow = (): number => (Date.now() + 1) * SCORES_PER_MS - 1;

/** BullMQ on Redis with an append-only log of that policy: `everysec` may lose a second of jobs, `always` none. */
export function createBullmqPeer({ redisUrl, redisPrefix = 'bench' }: PeerUrls, policy: FsyncPolicy): Peer {
  const name = `bullmq-aof-${policy}`;
  const prefix = `${redisPrefix}:${name}`;
  const connection = { url: redisUrl, maxRetriesPerRequest: null };
  const redis = lazily(
    async () => new Redis(redisUrl),
    (client) => client.quit(),
  );
  const queue = lazily(
    async () => new Queue<Payload>(QUEUE, { connection, prefix }),
    (opened) => opened.close(),
  );
  const addMany = async (jobs: readonly Job[]): Promise<void> => {
    const opened = await queue.get();
    for (const some of chunk(jobs, PER_CALL)) await opened.addBulk(some.map(entryOf));
  };
  return {
    name,
    describe: (mode) =>
      `bullmq ${versionOf('bullmq')} on Redis, appendfsync ${policy} ${JSON.stringify(OPTIONS[mode])}`,
    prepareServer: async () => switchLogOn(await redis.get(), policy),
    reset: async () => {
      await queue.close(); // it wrote what it knows of itself when it was opened
      await removeKeys(await redis.get(), prefix);
    },
    addMany,
    addSingly: async (jobs, concurrency) => {
      const opened = await queue.get();
      await inLanes(jobs.map(entryOf), concurrency, ({ name: job, data, opts }) => opened.add(job, data, opts));
    },
    addWaiting: (waiting) => addMany(waitingJobs(waiting)),
    settle: async () => settleLog(await redis.get()),
    work: async (mode, onJob) => {
      const worker = new Worker<Payload>(QUEUE, async ({ data }) => onJob(data), {
        connection,
        prefix,
        ...OPTIONS[mode],
      });
      worker.on('error', (error) => console.error(error));
      await worker.waitUntilReady();
      return () => worker.close();
    },
    left: async () => {
      const opened = await queue.get();
      const { wait = 0, active = 0 } = await opened.getJobCounts('wait', 'active');
      return wait + active + (await (await redis.get()).zcount(opened.toKey('delayed'), '-inf', scoreNow()));
    },
    waiting: async () => {
      const delayed = (await queue.get()).toKey('delayed');
      return (await redis.get()).zcount(delayed, `(${scoreNow()}`, '+inf');
    },
    close: async () => {
      await queue.close();
      await redis.close();
    },
  };
}

/** Spread evenly: Redis cannot copy a job by itself. */
function waitingJobs(count: number): Job[] {
  const now = Date.now();
  const step = (MONTH_MS - DAY_MS) / Math.max(count, 1);
  return Array.from({ length: count }, (_, n) => ({ n, dueAt: now + DAY_MS + Math.floor(n * step) + 1 }));
}

async function removeKeys(redis: Redis, prefix: string): Promise<void> {
  for await (const keys of redis.scanStream({ match: `${prefix}:*`, count: PER_CALL }) as AsyncIterable<string[]>) {
    if (keys.length > 0) await redis.unlink(keys);
  }
}

async function switchLogOn(redis: Redis, policy: FsyncPolicy): Promise<void> {
  await redis.config('SET', 'appendonly', 'yes');
  await redis.config('SET', 'appendfsync', policy);
  await logWritten(redis);
}

/** A fresh log, so that Redis does not rewrite it in the middle of a round. */
async function settleLog(redis: Redis): Promise<void> {
  if (!(await redis.info('persistence')).includes('aof_enabled:1')) return;
  await logWritten(redis);
  await redis.bgrewriteaof();
  await logWritten(redis);
}

const POLL_MS = 20;

async function logWritten(redis: Redis): Promise<void> {
  while (/aof_rewrite_(?:in_progress|scheduled):1/.test(await redis.info('persistence'))) await sleep(POLL_MS);
}
