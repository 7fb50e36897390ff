import { createBullmqPeer } from './bullmq.ts';
import { createGraphileWorkerPeer } from './graphile-worker.ts';
import type { Peer, PeerUrls } from './peer.ts';
import { createPgBossPeer } from './pg-boss.ts';
import { createRawSqlPeer } from './raw-sql.ts';

/** Every queue that we compare ourselves with, by its name. */
export const PEERS = {
  'graphile-worker': createGraphileWorkerPeer,
  'pg-boss': createPgBossPeer,
  'bullmq-aof-everysec': (urls) => createBullmqPeer(urls, 'everysec'),
  'bullmq-aof-always': (urls) => createBullmqPeer(urls, 'always'),
  'raw-sql': (urls) => createRawSqlPeer(urls, 'row'),
  'raw-sql-with-history': (urls) => createRawSqlPeer(urls, 'history'),
} as const satisfies Readonly<Record<string, (urls: PeerUrls) => Peer>>;

export type PeerName = keyof typeof PEERS;
export const PEER_NAMES = Object.keys(PEERS) as PeerName[];
