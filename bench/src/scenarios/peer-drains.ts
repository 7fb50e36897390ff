import { createPlace } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { meterProcessors, withoutBoot } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import { PEERS, type PeerName } from '../peers/index.ts';
import type { Job, Peer, PeerUrls } from '../peers/peer.ts';
import { startPeerWorker } from '../peers/run-worker.ts';
import type { Stage } from '../product/stage.ts';

/** The other queues, in a database of their own. */
export interface Peers {
  readonly urls: PeerUrls;
  readonly all: ReadonlyMap<PeerName, Peer>;
  close(): Promise<void>;
}

export async function openPeers({ services }: Stage): Promise<Peers> {
  const place = await createPlace(services.urls, 'dueline_bench_peers');
  const urls = { databaseUrl: place.databaseUrl, redisUrl: services.urls.redisUrl };
  const all = new Map(Object.entries(PEERS).map(([name, create]) => [name as PeerName, create(urls)]));
  const close = async () => {
    for (const peer of all.values()) await peer.close();
    await place.remove();
  };
  return { urls, all, close };
}

/** Jobs that were due over the last ten minutes. */
const dueJobs = (count: number): Job[] => {
  const now = Date.now();
  return Array.from({ length: count }, (_, n) => ({ n, dueAt: now - 1_000 - (n % 60_000) * 10 }));
};

const TIMEOUT_MS = 300_000;
const POLL_MS = 20;

interface PeerDrainOptions {
  readonly count: number;
  /** Jobs that are not due. */
  readonly waiting?: number;
  /** What happens between the filling and the start; @returns what ends it. */
  readonly beside?: () => Promise<() => Promise<void>>;
}

/** Each of them, set as its own documentation sets it for throughput, with one worker process. */
export const peerDrains = (
  stage: Stage,
  peers: Peers,
  { count, waiting = 0, beside }: PeerDrainOptions,
): Contestant[] =>
  [...peers.all].map(([name, peer]) => ({
    name,
    settings: peer.describe('tuned'),
    run: async () => {
      await peer.prepareServer?.();
      await peer.reset();
      if (waiting > 0) await peer.addWaiting(waiting);
      await peer.addMany(dueJobs(count));
      await peer.settle();
      const endBeside = await beside?.();
      try {
        return await drainPeer(stage, { name, peer, count, urls: peers.urls });
      } finally {
        await endBeside?.();
      }
    },
  }));

async function drainPeer(
  { servers }: Stage,
  { name, peer, count, urls }: { name: PeerName; peer: Peer; count: number; urls: PeerUrls },
): Promise<Sample> {
  const roots: number[] = [];
  const use = meterProcessors({ ...servers, apps: () => roots });
  const worker = await startPeerWorker({ name, mode: 'tuned', urls });
  roots.push(worker.pid);
  const deadline = performance.now() + TIMEOUT_MS;
  while (worker.handled() < count && performance.now() < deadline) await sleep(POLL_MS);
  const used = use();
  const { distinct, doubled, firstAt, lastAt, bootCpuSeconds } = await worker.stop();
  return {
    figures: { 'actions/s': distinct / (Math.max(1, lastAt - firstAt) / 1_000) }, // a clock tells whole milliseconds
    use: withoutBoot(used, bootCpuSeconds),
    units: count,
    lost: Math.max(count - distinct, await peer.left()),
    doubled,
  };
}
