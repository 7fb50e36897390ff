import { sleep } from '@dueline/kernel';
import { meterProcessors } from '../measure/processor.ts';
import type { Sample } from '../measure/rounds.ts';
import { median } from '../measure/statistics.ts';
import { drainContestant } from '../product/drain.ts';
import type { Product } from '../product/product.ts';
import { BOTH } from '../product/profiles.ts';
import type { Running } from '../product/running.ts';
import { DELAY_SECONDS, drainSteadily, type Reading, read, writeSteadily } from '../product/soak.ts';
import type { Stage } from '../product/stage.ts';
import { clear, untilDone } from '../product/work.ts';
import type { Scenario } from '../scenario.ts';
import { withProduct } from './with-product.ts';

const MINUTES = 10;
const DRAIN_COUNT = 50_000;
const READ_EVERY_MS = 5_000;
const TIMEOUT_MS = 60_000;
/** Part of the readings before all is warm: pools are open, the first minute of rows is there, the compiler has settled. */
const WARM_UP = 0.2;
const NAME = 'Dueline, as installed';

export const soakScenario: Scenario = {
  name: 'soak',
  brief: 'ten minutes at half of the drain rate',
  hasPeers: false,
  what: `${MINUTES} minutes at half of the drain rate that was measured just before: actions are scheduled all the time and come due two seconds later; what ended is removed after half a minute by what removes it after months in production. Nothing may grow: the last third against the first after the warm-up.`,
  expectations: [
    ...(['memory', 'connections', 'tables', 'indexes of open work'] as const).map((what) => ({
      ...{ what: `${what}: the last third against the first`, of: NAME, figure: `${what}, growth` },
      ...{ better: 'lower' as const, floor: what === 'connections' ? 1 : 1.15 },
    })),
    { what: 'written, of those wanted', of: NAME, figure: 'written, of those wanted', better: 'higher', floor: 0.98 },
    {
      what: 'seconds of work that were due at once',
      of: NAME,
      figure: 'most due at once, s of work',
      better: 'lower',
      floor: 1,
    },
  ],
  run: (stage, options) =>
    withProduct(stage, { ...options, rounds: 1, name: 'soak', accounts: 4 }, (product) => [
      { name: NAME, settings: BOTH.settings, run: () => drainAndSoak(stage, product, options.scale) },
    ]),
};

async function drainAndSoak(stage: Stage, product: Product, scale: number): Promise<Sample> {
  const count = Math.round(DRAIN_COUNT * scale);
  const drained = await drainContestant(stage, product, { count, profile: BOTH }).run();
  const perSecond = Math.floor((drained.figures['actions/s'] ?? 0) / 2);
  stage.tell(`the drain rate is ${Math.floor(perSecond * 2)}/s: ${perSecond}/s from now on`);
  await clear(product, { keepWaiting: false });
  return soak(stage, product, { perSecond, seconds: MINUTES * 60 * scale });
}

async function soak(
  stage: Stage,
  product: Product,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Sample> {
  const running = await product.start(BOTH.env);
  const draining = await drainSteadily(product);
  const stop = new AbortController();
  try {
    const use = meterProcessors({ ...stage.servers, apps: () => running.apps.map(({ child }) => child.pid ?? 0) });
    const writing = writeSteadily(product, perSecond, stop.signal);
    const readings = await Promise.race([readSteadily(stage, { product, running, seconds }), failureOf(writing)]);
    stop.abort();
    const written = await writing;
    await sleep(DELAY_SECONDS * 1_000);
    await untilDone(product, TIMEOUT_MS);
    const used = use();
    await draining.settled();
    const figures = {
      ...{ 'actions/s': written / seconds, 'written, of those wanted': written / seconds / perSecond },
      ...growth(readings, perSecond),
    };
    const { arrived, again } = draining.counts;
    return { figures, use: used, units: written, lost: written - arrived, doubled: again };
  } finally {
    stop.abort();
    await draining.stop();
    await running.stop();
  }
}

/** Never resolves: only what goes wrong ends the wait for something else. */
const failureOf = (work: Promise<unknown>): Promise<never> => work.then(() => new Promise<never>(() => undefined));

async function readSteadily(
  { tell }: Stage,
  { product, running, seconds }: { product: Product; running: Running; seconds: number },
): Promise<Reading[]> {
  const readings: Reading[] = [];
  for (const startedAt = performance.now(); performance.now() - startedAt < seconds * 1_000; ) {
    await sleep(READ_EVERY_MS);
    const reading = await read(product, running, (performance.now() - startedAt) / 1_000);
    readings.push(reading);
    tell(JSON.stringify(reading));
  }
  return readings;
}

/** By how much each grew: the median of the last third over that of the first after the warm-up. */
function growth(all: readonly Reading[], perSecond: number): Record<string, number> {
  const readings = all.slice(Math.floor(all.length * WARM_UP));
  const third = Math.max(1, Math.floor(readings.length / 3));
  const of = (reading: (one: Reading) => number): number =>
    median(readings.slice(-third).map(reading)) / median(readings.slice(0, third).map(reading));
  const allMemory = ({ memory }: Reading) => Object.values(memory).reduce((sum, mib) => sum + mib, 0);
  const last = readings.slice(-third);
  return {
    'memory, growth': of(allMemory),
    'memory MiB': median(last.map(allMemory)),
    'connections, growth': of(({ connections }) => connections),
    connections: median(last.map(({ connections }) => connections)),
    'tables, growth': of(({ tables }) => tables),
    'tables MiB': median(last.map(({ tables }) => tables)),
    'indexes of open work, growth': of(({ openIndexes }) => openIndexes),
    'most due at once, s of work': Math.max(...readings.map(({ due }) => due)) / perSecond,
  };
}
