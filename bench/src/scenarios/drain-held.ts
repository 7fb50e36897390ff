import pg from 'pg';
import { bareContestant } from '../product/bare.ts';
import { drainContestant } from '../product/drain.ts';
import { INLINE, QUEUE } from '../product/profiles.ts';
import type { Scenario } from '../scenario.ts';
import { peerDrains } from './peer-drains.ts';
import { withProduct } from './with-product.ts';

/** Claimed while the snapshot is held and timed after that. */
const CHURNED = 200_000;
const TIMED = 100_000;
const held = (name: string): string => `${name}, snapshot held`;
const BARE = 'Dueline, claim and finish alone';

export const drainHeldScenario: Scenario = {
  name: 'drain-held',
  brief: 'the same while somebody holds an old snapshot',
  hasPeers: true,
  what: 'While another session holds an old snapshot, as a report or a backup does, nothing that was claimed can be cleaned away: claims after 200,000 others, all due within the same ten minutes, with and without it; and `drain` with one held.',
  expectations: [
    {
      what: 'a claim of 500 with the snapshot held against without',
      ...{ of: held(BARE), to: BARE, figure: 'claim p50 ms', better: 'lower', floor: 2, goal: 1.5 },
    },
  ],
  run: (stage, options) => {
    const count = Math.round(TIMED * options.scale);
    const before = Math.round(CHURNED * options.scale);
    return withProduct(stage, { ...options, name: 'held' }, (product, peers) => [
      bareContestant(stage, product, { count, before, name: BARE }),
      bareContestant(stage, product, {
        count,
        before,
        name: held(BARE),
        beside: () => holdSnapshot(product.place.databaseUrl),
      }),
      ...[INLINE, QUEUE].map((profile) =>
        drainContestant(stage, product, {
          count,
          profile,
          name: held(profile.name),
          beside: () => holdSnapshot(product.place.databaseUrl),
        }),
      ),
      ...(peers === undefined
        ? []
        : peerDrains(stage, peers, { count, beside: () => holdSnapshot(peers.urls.databaseUrl) })),
    ]);
  },
};

/** Opens a transaction that sees the database as it is now. @returns what ends it. */
async function holdSnapshot(databaseUrl: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('select count(*) from pg_class');
  return () => client.end();
}
