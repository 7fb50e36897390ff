import { lineBroadcastRichMessage, processCampaign } from '@dueline/contracts';
import { sleep } from '@dueline/kernel';
import { type Broker, DONE } from '@dueline/mq';
import { meterProcessors } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import { lateness } from '../measure/statistics.ts';
import { connectTo } from '../product/broker.ts';
import { clearCampaigns, scheduleBroadcasts } from '../product/campaigns.ts';
import type { Product } from '../product/product.ts';
import type { Running } from '../product/running.ts';
import type { Stage } from '../product/stage.ts';
import type { BenchOptions, Scenario } from '../scenario.ts';
import { withProduct } from './with-product.ts';

const REPLICAS = 4;
const MINUTES = 5;
const CAMPAIGNS = 200;
const CAMPAIGN_SECONDS = 20;
const LEAD_MS = 3_000;
const GRACE_MS = 3_000;
const NO_REDIS = 'redis://127.0.0.1:9';
/** Ticks at a smaller scale, where nobody wants to wait for minutes. */
const SHORT_TICK_SECONDS = 2;
const ON_TIME = 'campaigns at their instants';

export const tickScenario: Scenario = {
  name: 'tick',
  brief: 'ticks of four schedulers, and campaigns on time through four dispatchers',
  hasPeers: false,
  what: `Four cron-schedulers: how long after the beginning of each of ${MINUTES} minutes its first tick is in the queue, and how many there are, with Redis and without. Four dispatchers that nobody ticks: how long after their instants ${CAMPAIGNS} campaigns that start at random over ${CAMPAIGN_SECONDS} seconds are in the queue, each once.`,
  expectations: [
    { what: 'a campaign in its queue, p50 ms', of: ON_TIME, figure: 'p50 ms', better: 'lower', floor: 20, goal: 10 },
    { what: 'a campaign in its queue, p99 ms', of: ON_TIME, figure: 'p99 ms', better: 'lower', floor: 100, goal: 50 },
    { what: 'before its time', of: ON_TIME, figure: 'early', better: 'lower', floor: 0 },
  ],
  run: (stage, options) =>
    withProduct(stage, { ...options, name: 'tick' }, (product) => [
      ticks(stage, product, { ...options, name: 'ticks with Redis', isRedisUp: true }),
      ticks(stage, product, { ...options, name: 'ticks without Redis', isRedisUp: false }),
      onTime(stage, product, Math.max(10, Math.round(CAMPAIGNS * options.scale))),
    ]),
};

/** Four of an app. */
const replicas = (product: Product, name: 'cron-scheduler' | 'campaign-dispatcher', env: Record<string, string> = {}) =>
  Promise.all(
    Array.from({ length: REPLICAS }, (_, n) => product.start({ ...env, INSTANCE_NAME: `bench-${name}-${n}` }, [name])),
  );

/** Measures while these run, and stops them whatever happens. */
async function beside(
  stage: Stage,
  running: readonly Running[],
  work: () => Promise<Omit<Sample, 'use'>>,
): Promise<Sample> {
  const apps = () => running.flatMap((replica) => replica.apps.map(({ child }) => child.pid ?? 0));
  try {
    const use = meterProcessors({ ...stage.servers, apps });
    const sample = await work();
    return { ...sample, use: use() };
  } finally {
    await Promise.all(running.map((replica) => replica.stop()));
  }
}

function ticks(
  stage: Stage,
  product: Product,
  { name, isRedisUp, scale }: BenchOptions & { name: string; isRedisUp: boolean },
): Contestant {
  const isShort = scale < 1;
  const seconds = isShort ? SHORT_TICK_SECONDS : 60;
  const env = {
    ...(isShort && { DUELINE_ENV: 'test', CAMPAIGN_TICK_INTERVAL_SECONDS: String(seconds) }),
    ...(!isRedisUp && { REDIS_URL: NO_REDIS }),
  };
  return {
    name,
    settings: `${REPLICAS} cron-schedulers, a tick each ${seconds} s; defaults otherwise`,
    run: async () => {
      await clearCampaigns(product);
      const running = await replicas(product, 'cron-scheduler', env);
      return beside(stage, running, () => hearTicks(product, { periodMs: seconds * 1_000, isRedisUp }));
    },
  };
}

/** What nobody consumes is one message at most: so the bench consumes, and tells the minutes apart by when their ticks came. */
async function hearTicks(
  product: Product,
  { periodMs, isRedisUp }: { periodMs: number; isRedisUp: boolean },
): Promise<Omit<Sample, 'use'>> {
  const broker = await connectTo(product);
  const firstAt = Math.ceil(Date.now() / periodMs) * periodMs;
  const heard: number[] = [];
  const consumer = broker.consume(
    processCampaign,
    async () => {
      heard.push(Date.now());
      return DONE;
    },
    { concurrency: 1 },
  );
  await sleep(firstAt + MINUTES * periodMs - 50 - Date.now());
  await consumer.drain();
  await broker.close();
  const byMinute = Map.groupBy(
    heard.filter((at) => at >= firstAt),
    (at) => Math.floor((at - firstAt) / periodMs),
  );
  const first = lateness([...byMinute].map(([minute, at]) => Math.min(...at) - firstAt - minute * periodMs));
  const counts = [...byMinute.values()].map(({ length }) => length);
  const mostWanted = isRedisUp ? 1 : REPLICAS; // without Redis each may tick: the claim decides
  return {
    figures: { 'p50 ms': first.p50, 'p99 ms': first.p99, 'ticks a minute': Math.max(...counts) },
    ...{ units: MINUTES, lost: MINUTES - byMinute.size },
    doubled: counts.reduce((sum, count) => sum + Math.max(0, count - mostWanted), 0),
  };
}

const onTime = (stage: Stage, product: Product, count: number): Contestant => ({
  name: ON_TIME,
  settings: `${REPLICAS} dispatchers, no ticks; defaults otherwise`,
  run: async () => {
    await clearCampaigns(product);
    const running = await replicas(product, 'campaign-dispatcher');
    return beside(stage, running, () => hearCampaigns(product, count));
  },
});

async function hearCampaigns(product: Product, count: number): Promise<Omit<Sample, 'use'>> {
  const [account] = product.accounts;
  if (account === undefined) throw new Error('there is no account');
  const broker = await connectTo(product);
  const { arrivals, drain } = await hear(broker);
  const from = Date.now() + LEAD_MS;
  const overMs = Math.min(CAMPAIGN_SECONDS * 1_000, count * 100);
  const instants = Array.from({ length: count }, () => from + Math.floor(Math.random() * overMs));
  const ids = await scheduleBroadcasts(product, account, instants);
  await sleep(from + overMs + GRACE_MS - Date.now());
  await drain();
  const late = ids.flatMap((id, n) => (arrivals.get(id) ?? []).slice(0, 1).map((at) => at - (instants[n] ?? at)));
  const { p50, p99, max, early } = lateness(late);
  return {
    figures: { 'p50 ms': p50, 'p99 ms': p99, 'max ms': max, early },
    ...{ units: count, lost: count - late.length },
    doubled: [...arrivals.values()].reduce((sum, { length }) => sum + length - 1, 0),
  };
}

/** Takes the tickets of broadcasts, as whoever sends them would. */
async function hear(broker: Broker) {
  const arrivals = new Map<string, number[]>();
  const consumer = broker.consume(
    lineBroadcastRichMessage,
    async ({ data: { campaignId } }) => {
      arrivals.set(campaignId, [...(arrivals.get(campaignId) ?? []), Date.now()]);
      return DONE;
    },
    { concurrency: 20 },
  );
  const drain = async () => {
    await consumer.drain();
    await broker.close();
  };
  return { arrivals, drain };
}
