import { meterProcessors } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import type { Product } from '../product/product.ts';
import { AT_ONCE, planPushes, publishPushes, pushBare, pushByClient, untilSent } from '../product/push.ts';
import { PUSH_ACCOUNTS, startLine } from '../product/push-line.ts';
import type { Stage } from '../product/stage.ts';
import { clear } from '../product/work.ts';
import type { Scenario } from '../scenario.ts';
import { withProduct } from './with-product.ts';

const COUNT = 20_000;
const SIMULATOR = 'LINE simulator alone';
const CLIENT = 'line-client alone';
const WHOLE = 'line-delivery';
const RATE = 'pushes/s';

export const pushScenario: Scenario = {
  name: 'push',
  brief: 'messages sent to a simulated LINE',
  hasPeers: false,
  what: `20,000 pushes of ${PUSH_ACCOUNTS} accounts to a simulated LINE in a process of its own. ${SIMULATOR}: from a client that only writes bytes. ${CLIENT}: one process, nothing written down. ${WHOLE}: tickets in RabbitMQ until the verdict on the last push is written; each has its permit, its attempt written ahead, and its outcome.`,
  // A bare client costs about what the simulator does to answer it, so it can be no three times slower: it may only not be faster.
  expectations: [
    { to: WHOLE, floor: 3 },
    { to: CLIENT, floor: 1 },
  ].map(({ to, floor }) => ({
    ...{ what: `what the simulator answers against ${to}`, of: SIMULATOR, to, figure: RATE, better: 'higher', floor },
  })),
  run: (stage, options) => {
    const count = Math.round(COUNT * options.scale);
    return withProduct(stage, { ...options, name: 'push', accounts: PUSH_ACCOUNTS }, (product) => [
      direct(stage, { name: SIMULATOR, settings: `${AT_ONCE} connections that write bytes`, count, push: pushBare }),
      direct(stage, { name: CLIENT, settings: `${AT_ONCE} requests at once`, count, push: pushByClient }),
      whole(stage, product, count),
    ]);
  },
};

interface Direct {
  readonly name: string;
  readonly settings: string;
  readonly count: number;
  readonly push: typeof pushBare;
}

/** From this process straight to LINE. */
const direct = (stage: Stage, { name, settings, count, push }: Direct): Contestant => ({
  ...{ name, settings },
  run: async () => {
    const line = await startLine(stage);
    try {
      const use = meterProcessors({ simulator: () => [line.process.child.pid ?? 0] });
      const accepted = await push(line, count);
      const used = use();
      const { bench = 0, ...groups } = used.seconds;
      return sampleOf({ use: { ...used, seconds: { ...groups, apps: bench } }, count, accepted, received: accepted });
    } finally {
      await line.process.stop();
    }
  },
});

const whole = (stage: Stage, product: Product, count: number): Contestant => ({
  name: WHOLE,
  settings: `one process, ${AT_ONCE} requests at once, limits shared in Redis; defaults otherwise`,
  run: async () => {
    const line = await startLine(stage);
    await clear(product, { keepWaiting: false });
    const tickets = await planPushes(product, count);
    const running = await product.start({ LINE_API_URL: line.apiUrl }, ['line-delivery']);
    try {
      const apps = () => running.apps.map(({ child }) => child.pid ?? 0);
      const use = meterProcessors({ ...stage.servers, simulator: () => [line.process.child.pid ?? 0], apps });
      await publishPushes(product, tickets);
      const accepted = await untilSent(product);
      const used = use();
      return sampleOf({ use: used, count, accepted, received: (await line.receiptsSince(0)).length });
    } finally {
      await running.stop();
      await line.process.stop();
    }
  },
});

const sampleOf = ({
  use,
  count,
  accepted,
  received,
}: {
  use: Sample['use'];
  count: number;
  accepted: number;
  received: number;
}): Sample => ({
  figures: { [RATE]: count / use.wallSeconds },
  ...{ use, units: count, lost: count - Math.min(accepted, received), doubled: Math.max(0, received - count) },
});
