import { bareContestant } from '../product/bare.ts';
import { drainContestant } from '../product/drain.ts';
import { INLINE, QUEUE } from '../product/profiles.ts';
import { CPU_FIGURE, type Scenario } from '../scenario.ts';
import { peerDrains } from './peer-drains.ts';
import { withProduct } from './with-product.ts';

const COUNT = 100_000;
const BARE = 'Dueline, claim and finish alone';
const RATE = 'actions/s';

export const drainScenario: Scenario = {
  name: 'drain',
  brief: 'a backlog of 100,000 actions',
  hasPeers: true,
  what: '100,000 actions that are due: from the moment in which they may be claimed until the last is decided. An action of ours is claimed, its rule and person are read and its conditions evaluated, and in one transaction it is finished and leaves a line of history and a message to send; a job of the others does nothing.',
  expectations: [
    ...(
      [
        ['inline against graphile-worker', INLINE.name, 0.5, 0.9],
        ['through RabbitMQ against graphile-worker', QUEUE.name, 0.35, 0.5],
        ['claim and finish alone against graphile-worker', BARE, 0.9, 1.3],
      ] as const
    ).map(([what, of, floor, goal]) => ({
      ...{ what, of, to: 'graphile-worker', figure: RATE, better: 'higher' as const, floor, goal },
    })),
    ...(
      [
        ['inline against plain SQL for the same rows', INLINE.name, 0.55],
        ['through RabbitMQ against plain SQL for the same rows', QUEUE.name, 0.4],
      ] as const
    ).map(([what, of, floor]) => ({
      ...{ what, of, to: 'raw-sql-with-history', figure: RATE, better: 'higher' as const, floor },
    })),
    {
      what: 'processor time through RabbitMQ',
      of: QUEUE.name,
      figure: CPU_FIGURE,
      better: 'lower',
      floor: 1.8,
      goal: 1.4,
    },
  ],
  run: (stage, options) => {
    const count = Math.round(COUNT * options.scale);
    return withProduct(stage, { ...options, name: 'drain' }, (product, peers) => [
      drainContestant(stage, product, { count, profile: INLINE }),
      drainContestant(stage, product, { count, profile: QUEUE }),
      bareContestant(stage, product, { count, name: BARE }),
      ...(peers === undefined ? [] : peerDrains(stage, peers, { count })),
    ]);
  },
};
