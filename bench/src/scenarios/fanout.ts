import { sleep } from '@dueline/kernel';
import { meterProcessors } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import { acceptedChunks, clearCampaigns, fillAudiences, sendToAudiences, untilClosed } from '../product/campaigns.ts';
import type { Product } from '../product/product.ts';
import type { Running } from '../product/running.ts';
import type { Stage } from '../product/stage.ts';
import { type StubLine, startStubLine } from '../product/stub-line.ts';
import type { Scenario } from '../scenario.ts';
import { withProduct } from './with-product.ts';

const PEOPLE = 1_000_000;
/** So many that LINE's limit for one account (140 multicasts a second) is not what is measured. */
const ACCOUNTS = 8;
const PER_REQUEST = 500;
const TIMEOUT_MS = 600_000;
const RATE = 'recipients/s';
const APPS = ['cron-scheduler', 'campaign-dispatcher', 'line-delivery'] as const;
/** When line-delivery is killed: so much is sent. */
const SENT_BEFORE = 0.3;
const AWAY_MS = 1_000;
const POLL_MS = 5;
/** At a smaller scale, where nobody wants to wait for what a killed process held. */
const SHORT_LEASES = {
  ...{ DUELINE_ENV: 'test', ATTEMPT_DEADLINE_SECONDS: '2', SETTLE_MARGIN_SECONDS: '1', LEASE_MARGIN_SECONDS: '3' },
  ...{ DELIVERY_ANNOUNCE_AGAIN_SECONDS: '2', REAP_INTERVAL_SECONDS: '1', CAMPAIGN_CLOSE_INTERVAL_SECONDS: '1' },
};

interface Run {
  readonly name: string;
  readonly latencyMs: number;
  readonly isKilled: boolean;
}

const RUNS: readonly Run[] = [
  ...[0, 20, 100].map((latencyMs) => ({ name: `${latencyMs} ms`, latencyMs, isKilled: false })),
  { name: '20 ms, line-delivery killed in the middle', latencyMs: 20, isKilled: true },
];

export const fanoutScenario: Scenario = {
  name: 'fanout',
  brief: 'campaigns to a million people, and a kill in the middle',
  hasPeers: false,
  what: `Campaigns of ${ACCOUNTS} accounts to a million people together, 500 a request, to a stub of LINE that answers after so many milliseconds: from the instant of their start, the freeze included, until the last is closed; each request is a row, written ahead. One of each app; processor time for a million people is 100 times what is told for 10,000.`,
  expectations: [
    { what: 'people a second at 0 ms', of: '0 ms', figure: RATE, better: 'higher', floor: 80_000, goal: 110_000 },
  ],
  run: (stage, options) => {
    const perAccount = Math.max(PER_REQUEST, Math.round((PEOPLE * options.scale) / ACCOUNTS));
    return withProduct(stage, { ...options, name: 'fanout', accounts: ACCOUNTS }, async (product) => {
      stage.tell('filling the audiences');
      await fillAudiences(product, perAccount);
      const env = options.scale < 1 ? SHORT_LEASES : {};
      return RUNS.map((run) => contestant(stage, product, { run, perAccount, env }));
    });
  },
};

const contestant = (
  stage: Stage,
  product: Product,
  { run, perAccount, env }: { run: Run; perAccount: number; env: Readonly<Record<string, string>> },
): Contestant => ({
  name: run.name,
  settings: `one of each app, ${ACCOUNTS} accounts of ${perAccount.toLocaleString('en')} people; defaults otherwise`,
  run: async () => {
    const line = await startStubLine(run.latencyMs);
    await clearCampaigns(product);
    const running = await product.start({ ...env, LINE_API_URL: line.url }, [...APPS]);
    try {
      return await send({ stage, product, running, line, run, perAccount });
    } finally {
      await running.stop();
      await line.stop();
    }
  },
});

interface Scene {
  readonly stage: Stage;
  readonly product: Product;
  readonly running: Running;
  readonly line: StubLine;
  readonly run: Run;
  readonly perAccount: number;
}

async function send({ stage, product, running, line, run, perAccount }: Scene): Promise<Sample> {
  const people = perAccount * ACCOUNTS;
  const chunks = Math.ceil(perAccount / PER_REQUEST) * ACCOUNTS;
  const apps = () => running.apps.map(({ child }) => child.pid ?? 0);
  const use = meterProcessors({ ...stage.servers, simulator: () => [line.pid], apps });
  const startedAt = await sendToAudiences(product);
  if (run.isKilled) await killInTheMiddle(product, running, chunks);
  const seconds = ((await untilClosed(product, TIMEOUT_MS)) - startedAt) / 1_000;
  const used = use();
  const { requests, accepted, recipients } = await line.taken();
  const written = await acceptedChunks(product);
  return {
    figures: { [RATE]: people / seconds, 'requests/s': requests / seconds, 'all sent after s': seconds },
    ...{ use: used, units: people, isUseUnknown: run.isKilled },
    lost: Math.max(0, people - recipients) + Math.max(0, chunks - written),
    doubled: Math.max(0, recipients - people) + Math.max(0, accepted - chunks),
  };
}

async function killInTheMiddle(product: Product, running: Running, chunks: number): Promise<void> {
  while ((await acceptedChunks(product)) < chunks * SENT_BEFORE) await sleep(POLL_MS);
  const app = running.apps.find(({ name }) => name === 'line-delivery');
  if (app === undefined) throw new Error('no line-delivery runs here');
  app.child.kill('SIGKILL');
  await app.gone;
  await sleep(AWAY_MS);
  await running.restart('line-delivery');
}
