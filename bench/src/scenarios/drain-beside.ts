import { runRounds, type Standing } from '../measure/rounds.ts';
import { drainContestant } from '../product/drain.ts';
import { openProduct, type Product } from '../product/product.ts';
import { INLINE, type Profile, QUEUE } from '../product/profiles.ts';
import type { Stage } from '../product/stage.ts';
import { fill, settle, WAITING } from '../product/work.ts';
import type { BenchOptions, Expectation, Scenario } from '../scenario.ts';
import { openPeers, type Peers, peerDrains } from './peer-drains.ts';

const COUNT = 100_000;
const WAITING_ROWS = { '0.1 M': 100_000, '1 M': 1_000_000, '5 M': 5_000_000 } as const;
type Level = keyof typeof WAITING_ROWS;
const LEVELS = Object.keys(WAITING_ROWS) as Level[];
/** What the others are measured beside: to fill more of theirs takes longer than to measure it. */
const PEER_WAITING = 1_000_000;

const nameOf = (profile: Profile, level: Level): string => `${profile.name}, beside ${level}`;

const flat = (profile: Profile): Expectation => ({
  what: `${profile.name}: beside 5 M against beside 0.1 M`,
  ...{ of: nameOf(profile, '5 M'), to: nameOf(profile, '0.1 M'), figure: 'actions/s' },
  ...{ better: 'higher', floor: 0.7, goal: 0.9 },
});

export const drainBesideScenario: Scenario = {
  name: 'drain-beside',
  brief: 'the same beside up to 5 million that are not due',
  hasPeers: true,
  what: '100,000 actions that are due, as in `drain`, beside 0.1, 1 and 5 million that wait for a time between tomorrow and a month from now; the others beside 1 million.',
  expectations: [flat(INLINE), flat(QUEUE)],
  run: async (stage, options) => {
    const products = new Map<Level, Product>();
    const peers = options.peers ? await openPeers(stage) : undefined;
    try {
      for (const level of LEVELS) products.set(level, await openBeside(stage, { level, ...options }));
      return await measure(stage, { ...options, products, others: peers });
    } finally {
      await peers?.close();
      for (const product of products.values()) await product.close();
    }
  },
};

async function openBeside(stage: Stage, { level, scale }: { level: Level; scale: number }): Promise<Product> {
  const count = Math.round(WAITING_ROWS[level] * scale);
  stage.tell(`filling ${count} rows that wait`);
  const product = await openProduct(stage, { name: `beside_${count}`, accounts: 1 });
  await fill(product, { count, when: WAITING });
  await settle(product);
  return product;
}

function measure(
  stage: Stage,
  options: BenchOptions & { products: ReadonlyMap<Level, Product>; others: Peers | undefined },
): Promise<Standing[]> {
  const count = Math.round(COUNT * options.scale);
  const ours = [...options.products].flatMap(([level, product]) =>
    [INLINE, QUEUE].map((profile) =>
      drainContestant(stage, product, { count, profile, keepWaiting: true, name: nameOf(profile, level) }),
    ),
  );
  const waiting = Math.round(PEER_WAITING * options.scale);
  const theirs = options.others === undefined ? [] : peerDrains(stage, options.others, { count, waiting });
  return runRounds([...ours, ...theirs], {
    ...{ ...options, tell: stage.tell },
    broken: [...options.products.values()].map(({ broken }) => broken),
  });
}
