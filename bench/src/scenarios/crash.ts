import type { App, AppName } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { meterProcessors } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import type { Product } from '../product/product.ts';
import { BOTH } from '../product/profiles.ts';
import type { Running } from '../product/running.ts';
import type { Stage } from '../product/stage.ts';
import { clear, DUE, fill, hold, letGo, readOutcome, settle, untilDone } from '../product/work.ts';
import type { Scenario } from '../scenario.ts';
import { withProduct } from './with-product.ts';

const COUNT = 50_000;
/** When the accident happens: so much of the work is done. */
const DONE_BEFORE = 0.3;
/** Until what was killed is started again, as an orchestrator would. */
const AWAY_MS = 1_000;
const TIMEOUT_MS = 600_000;
const POLL_MS = 20;

/** What goes wrong; resolves when it is back. */
type Accident = (scene: { stage: Stage; running: Running }) => Promise<void>;

const killed =
  (name: AppName): Accident =>
  async ({ running }) => {
    const app = running.apps.find((one) => one.name === name);
    if (app === undefined) throw new Error(`no ${name} runs here`);
    app.child.kill('SIGKILL');
    await app.gone;
    await sleep(AWAY_MS);
    await running.restart(name);
  };

const nothing: Accident = async () => undefined;

const ACCIDENTS: Readonly<Record<string, Accident>> = {
  'nothing happens': nothing,
  'cron-scheduler is killed': killed('cron-scheduler'),
  'trigger-worker is killed': killed('trigger-worker'),
  'RabbitMQ is killed': async ({ stage }) => {
    await stage.services.rabbitmq.stop('SIGKILL');
    await sleep(AWAY_MS);
    await stage.services.rabbitmq.start();
  },
  'PostgreSQL is killed': async ({ stage }) => {
    await stage.services.postgres.stop('SIGKILL');
    await sleep(AWAY_MS);
    await stage.services.postgres.start();
  },
};

export const crashScenario: Scenario = {
  name: 'crash',
  brief: 'an app or a server is killed in the middle of a drain',
  hasPeers: false,
  what: '50,000 actions that are due, as installed; when a third is done, something is killed, and started again a second later under its name. Leases and intervals are those of production.',
  expectations: [],
  run: (stage, options) => {
    const count = Math.round(COUNT * options.scale);
    return withProduct(stage, { ...options, name: 'crash' }, (product) =>
      Object.entries(ACCIDENTS).map(([name, accident]) => contestant(stage, product, { name, accident, count })),
    );
  },
};

function contestant(
  stage: Stage,
  product: Product,
  { name, accident, count }: { name: string; accident: Accident; count: number },
): Contestant {
  return {
    name,
    settings: BOTH.settings,
    run: async () => {
      await clear(product, { keepWaiting: false });
      await hold(product);
      await fill(product, { count, when: DUE });
      await settle(product);
      const running = await product.start(BOTH.env);
      try {
        return await drainThrough({ stage, product, running, accident, count });
      } finally {
        await running.stop();
      }
    },
  };
}

async function drainThrough({
  stage,
  product,
  running,
  accident,
  count,
}: {
  stage: Stage;
  product: Product;
  running: Running;
  accident: Accident;
  count: number;
}): Promise<Sample> {
  const use = meterProcessors({ ...stage.servers, apps: () => running.apps.map(({ child }: App) => child.pid ?? 0) });
  const startedAt = await letGo(product);
  await untilCount(product, Math.round(count * DONE_BEFORE));
  const accidentAt = performance.now();
  await accident({ stage, running });
  const awaySeconds = (performance.now() - accidentAt) / 1_000;
  await untilDone(product, TIMEOUT_MS);
  const used = use();
  const { lost, doubled, lastAt } = await readOutcome(product, count);
  return {
    figures: { 'all done after s': (lastAt - startedAt) / 1_000, 'of which away s': awaySeconds },
    ...{ use: used, units: count, lost, doubled, isUseUnknown: accident !== nothing },
  };
}

async function untilCount({ database }: Product, count: number): Promise<void> {
  for (;;) {
    const { rows } = await database.db.$client.query<{ left: number }>(
      "select count(*)::int as left from scheduled_action where status = 'done'",
    );
    if ((rows[0]?.left ?? 0) >= count) return;
    await sleep(POLL_MS);
  }
}
