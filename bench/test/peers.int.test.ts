import { testDb } from '@dueline/db/testing';
import type {} from '@dueline/local-services/vitest';
import { expect, inject, onTestFinished, test } from 'vitest';
import { PEER_NAMES, PEERS, type PeerName } from '../src/peers/index.ts';
import type { Job } from '../src/peers/peer.ts';
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

const jobsDue = (from: number, count: number, dueAt: (n: number) => number): Job[] =>
  Array.from({ length: count }, (_, i) => ({ n: from + i, dueAt: dueAt(from + i) }));

test.each(PEER_NAMES)('%s: what is due is handled once, by whichever worker, and nothing else is', async (name) => {
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
});
