import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { testDb } from '@dueline/db/testing';
import type {} from '@dueline/local-services/vitest';
import pg from 'pg';
import { expect, inject, onTestFinished, test } from 'vitest';
import { PEER_NAMES, PEERS, type PeerName } from '../src/peers/index.ts';
import { payloadOf } from '../src/peers/payload.ts';
import type { Job } from '../src/peers/peer.ts';
import { HISTORY, MESSAGE, TABLE } from '../src/peers/raw-sql-work.ts';
import { countJobs, startPeerWorker } from '../src/peers/run-worker.ts';

/** A database and keys of its own; the server of Redis is everybody's, so that its settings stay. */
async function placeFor(name: PeerName) {
  const database = await testDb({ empty: true });
  const urls = {
    databaseUrl: database.url,
    redisUrl: inject('redisUrl'),
    redisPrefix: `bench-test-${crypto.randomUUID()}`,
  };
  const peer = PEERS[name](urls);
  onTestFinished(async () => {
    await peer.reset();
    await peer.close();
    await database[Symbol.asyncDispose]();
  });
  await peer.reset();
  return { peer, urls };
}

/** Most tests here start processes, each of which loads a whole queue. */
const PATIENCE = { timeout: 90_000 };

const RUN_WORKER = fileURLToPath(new URL('../src/peers/run-worker.ts', import.meta.url));

/** What it says, or what it throws. */
function attempt(call: () => unknown): string {
  try {
    return String(call());
  } catch (error) {
    return String(error);
  }
}

const jobsDue = (from: number, count: number, dueAt: (n: number) => number): Job[] =>
  Array.from({ length: count }, (_, i) => ({ n: from + i, dueAt: dueAt(from + i) }));

test.each(PEER_NAMES)(
  '%s: what is due is handled once, by whichever worker, and nothing else is',
  PATIENCE,
  async (name) => {
    const { peer, urls } = await placeFor(name);
    const past = Date.now() - 60_000;
    await peer.addMany(jobsDue(0, 200, (n) => past + n));
    await peer.addWaiting(50);
    await peer.addSingly(
      jobsDue(200, 20, (n) => past + n),
      4,
    );
    await peer.settle();
    await expect.poll(() => peer.left()).toBe(220);

    const work = { name, mode: 'tuned', urls } as const;
    const workers = await Promise.all([startPeerWorker(work), startPeerWorker(work)]);
    await expect
      .poll(() => workers.reduce((sum, worker) => sum + worker.handled(), 0), { timeout: 20_000 })
      .toBeGreaterThanOrEqual(220);
    const finals = await Promise.all(workers.map((worker) => worker.stop()));

    expect(finals.map(({ output }) => output)).toEqual(['', '']);
    expect(countJobs(finals.map(({ jobs }) => jobs))).toEqual({ distinct: 220, doubled: 0 });
    expect(finals.reduce((sum, { handled }) => sum + handled, 0)).toBe(220);
    expect(await peer.left()).toBe(0);
    expect(await peer.waiting()).toBe(50);
  },
);

test('raw-sql: what it has read ahead is never fired early', PATIENCE, async () => {
  const { peer, urls } = await placeFor('raw-sql');
  const worker = await startPeerWorker({ name: 'raw-sql', mode: 'late', urls });
  const soon = Date.now() + 300;
  await peer.addMany(jobsDue(0, 100, (n) => soon + 5 * n));

  await expect.poll(() => worker.handled(), { timeout: 20_000 }).toBe(100);
  const { latenessMs, doubled } = await worker.stop();

  expect(latenessMs).toHaveLength(100);
  expect(Math.min(...latenessMs)).toBeGreaterThanOrEqual(0);
  expect(doubled).toBe(0);
});

test('raw-sql-with-history leaves a line for each step of a job, and a message to send', PATIENCE, async () => {
  const { peer, urls } = await placeFor('raw-sql-with-history');
  await peer.addMany(jobsDue(0, 10, () => Date.now() - 1_000));
  const worker = await startPeerWorker({ name: 'raw-sql-with-history', mode: 'tuned', urls });
  await expect.poll(() => worker.handled(), { timeout: 20_000 }).toBe(10);
  await worker.stop();

  const client = new pg.Client(urls.databaseUrl);
  await client.connect();
  onTestFinished(() => client.end());
  const { rows } = await client.query(`
    select action.user_id, array_agg(decision order by history.id) as decisions, min(message.body) like '[{"text": %' as has_body
      from ${TABLE} as action
      join ${HISTORY} as history on history.scheduled_action_id = action.id
      join ${MESSAGE} as message on message.scheduled_action_id = action.id
     group by action.id order by action.id`);
  expect(rows).toEqual(
    jobsDue(0, 10, () => 0).map((job) => ({
      ...{ user_id: payloadOf(job).userId, decisions: ['scheduled', 'fired'], has_body: true },
    })),
  );
});

test('a worker that cannot work says why', PATIENCE, async () => {
  const urls = { databaseUrl: 'postgres://127.0.0.1:1/nowhere', redisUrl: 'redis://127.0.0.1:1' };

  await expect(startPeerWorker({ name: 'raw-sql', mode: 'tuned', urls })).rejects.toThrow(
    /ended with 1.*ECONNREFUSED/s,
  );
});

test('a worker that was killed is not taken for one that has nothing to do', PATIENCE, async () => {
  const { urls } = await placeFor('raw-sql');
  const worker = await startPeerWorker({ name: 'raw-sql', mode: 'tuned', urls });

  process.kill(worker.pid, 'SIGKILL');

  await expect.poll(() => attempt(() => worker.handled())).toMatch('ended with SIGKILL');
  await expect(worker.stop()).rejects.toThrow('ended with SIGKILL');
});

test('a worker ends when the process that started it is killed', PATIENCE, async () => {
  const { urls } = await placeFor('raw-sql');
  const work = { name: 'raw-sql', mode: 'tuned', urls };
  const script = `import { startPeerWorker } from ${JSON.stringify(RUN_WORKER)};
    console.log((await startPeerWorker(${JSON.stringify(work)})).pid);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const workerPid = await new Promise<number>((resolve) => {
    parent.stdout.once('data', (line) => resolve(Number(line)));
  });

  parent.kill('SIGKILL');

  await expect.poll(() => attempt(() => process.kill(workerPid, 0)), { timeout: 10_000 }).toMatch('ESRCH');
});

test('every job carries about 500 bytes, its own and always the same', () => {
  const dueAt = Date.now();
  const texts = [0, 1, 99_999, 5_000_000].map((n) => JSON.stringify(payloadOf({ n, dueAt })));

  for (const text of texts) expect(text.length).toBeGreaterThan(450);
  for (const text of texts) expect(text.length).toBeLessThan(550);
  expect(new Set(texts.map((text) => text.slice(-100))).size).toBe(4);
  expect(JSON.stringify(payloadOf({ n: 99_999, dueAt }))).toBe(texts[2]);
});
