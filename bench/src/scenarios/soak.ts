import { sleep } from '@dueline/kernel';
import { meterProcessors } from '../measure/processor.ts';
import type { Sample } from '../measure/rounds.ts';
import { standingOf } from '../measure/rounds.ts';
import { median } from '../measure/statistics.ts';
import { drainContestant } from '../product/drain.ts';
import { openProduct, type Product } from '../product/product.ts';
import { BOTH } from '../product/profiles.ts';
import { DELAY_SECONDS, drainSteadily, type Reading, read, writeSteadily } from '../product/soak.ts';
import type { Stage } from '../product/stage.ts';
import { clear, untilDone } from '../product/work.ts';
import type { Scenario } from '../scenario.ts';

const MINUTES = 10;
const DRAIN_COUNT = 50_000;
const READ_EVERY_MS = 5_000;
/** Part of the readings before all is warm: pools are open, the first minute of rows is there, the compiler has settled. */
const WARM_UP = 0.2;
const NAME = 'Dueline, as installed';

export const soakScenario: Scenario = {
  name: 'soak',
  what: `${MINUTES} minutes at half of the drain rate that was measured just before: actions are scheduled all the time and come due two seconds later; what ended is removed after half a minute, as retention would. Nothing may grow: the last third against the first after the warm-up.`,
  expectations: [
    ...(['memory', 'connections', 'tables', 'indexes of open work'] as const).map((what) => ({
      ...{ what: `${what}: the last third against the first`, of: NAME, figure: `${what}, growth` },
      ...{ better: 'lower' as const, floor: what === 'connections' ? 1 : 1.15 },
    })),
    { what: 'actions per second kept up, of those wanted', of: NAME, figure: 'kept up', better: 'higher', floor: 0.98 },
  ],
  run: async (stage, options) => {
    const product = await openProduct(stage, { name: 'soak', accounts: 4 });
    try {
      const count = Math.round(DRAIN_COUNT * options.scale);
      const drained = await drainContestant(stage, product, { count, profile: BOTH }).run();
      const perSecond = Math.floor((drained.figures['actions/s'] ?? 0) / 2);
      stage.tell(`the drain rate is ${Math.floor(perSecond * 2)}/s: ${perSecond}/s from now on`);
      await clear(product, { keepWaiting: false });
      const sample = await soak(stage, product, { perSecond, seconds: MINUTES * 60 * options.scale });
      return [standingOf({ name: NAME, settings: BOTH.settings }, [{ ...sample, spin: 0, isQuiet: true }])];
    } finally {
      await product.close();
    }
  },
};

async function soak(
  stage: Stage,
  product: Product,
  { perSecond, seconds }: { perSecond: number; seconds: number },
): Promise<Sample> {
  const running = await product.start(BOTH.env);
  const draining = await drainSteadily(product);
  try {
    const use = meterProcessors({ ...stage.servers, apps: () => running.apps.map(({ child }) => child.pid ?? 0) });
    const stop = new AbortController();
    const writing = writeSteadily(product, perSecond, stop.signal);
    const readings: Reading[] = [];
    for (const startedAt = performance.now(); performance.now() - startedAt < seconds * 1_000; ) {
      await sleep(READ_EVERY_MS);
      const reading = await read(product, running, (performance.now() - startedAt) / 1_000);
      readings.push(reading);
      stage.tell(JSON.stringify(reading));
    }
    stop.abort();
    const written = await writing;
    await sleep(DELAY_SECONDS * 1_000);
    await untilDone(product, 60_000);
    const used = use();
    await draining.stop();
    return {
      figures: { 'actions/s': written / seconds, 'kept up': written / seconds / perSecond, ...growth(readings) },
      ...{ use: used, units: written, lost: written - draining.counts.arrived, doubled: draining.counts.again },
    };
  } finally {
    await running.stop();
  }
}

/** By how much each grew: the median of the last third over that of the first after the warm-up. */
function growth(all: readonly Reading[]): Record<string, number> {
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
    'most due at once': Math.max(...readings.map(({ due }) => due)),
  };
}
