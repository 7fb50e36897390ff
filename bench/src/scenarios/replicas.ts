import { drainContestant } from '../product/drain.ts';
import { INLINE, QUEUE } from '../product/profiles.ts';
import type { Scenario } from '../scenario.ts';
import { withProduct } from './with-product.ts';

const COUNT = 100_000;
const REPLICAS = [1, 2, 4] as const;

export const replicasScenario: Scenario = {
  name: 'replicas',
  brief: 'the same with 1, 2 and 4 of each app',
  hasPeers: false,
  what: '`drain` with 1, 2 and 4 replicas of each app, and accounts enough for all: they must not cost each other anything but the processors that they share.',
  expectations: [INLINE, QUEUE].map((profile) => ({
    what: `${profile.name}: 4 replicas against 1`,
    ...{ of: `${profile.name}, 4 replicas`, to: `${profile.name}, 1 replica`, figure: 'actions/s' },
    ...{ better: 'higher', floor: 0.7, goal: 1 },
  })),
  run: (stage, options) => {
    const count = Math.round(COUNT * options.scale);
    return withProduct(stage, { ...options, name: 'replicas', accounts: 8 }, (product) =>
      [INLINE, QUEUE].flatMap((profile) =>
        REPLICAS.map((replicas) =>
          drainContestant(stage, product, {
            ...{ count, profile, scanners: replicas, workers: replicas },
            name: `${profile.name}, ${replicas} replica${replicas === 1 ? '' : 's'}`,
          }),
        ),
      ),
    );
  },
};
