import { sql } from '@dueline/db';
import { sleep } from '@dueline/kernel';
import { meterProcessors } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import { lateness } from '../measure/statistics.ts';
import type { Product } from './product.ts';
import type { Profile } from './profiles.ts';
import type { Stage } from './stage.ts';
import { clear, fill, readOutcome, untilDone } from './work.ts';

/** Over how long the actions come due, in seconds. */
export const LATE_SECONDS = 20;
/** From the filling to the first of them, so that the apps see all of it before. */
export const LEAD_SECONDS = 5;
const IDLE_MS = 3_000;
const TIMEOUT_MS = 60_000;

interface LateOptions {
  readonly name: string;
  readonly count: number;
  readonly profile: Profile;
}

/** Our own apps, idle beside what waits, while actions come due at random instants. */
export const lateContestant = (stage: Stage, product: Product, options: LateOptions): Contestant => ({
  name: options.name,
  settings: options.profile.settings,
  run: () => fireOnTime(stage, product, options),
});

async function fireOnTime(stage: Stage, product: Product, { count, profile }: LateOptions): Promise<Sample> {
  await clear(product, { keepWaiting: true });
  const running = await product.start(profile.env);
  try {
    await sleep(IDLE_MS);
    const use = meterProcessors({ ...stage.servers, apps: () => running.apps.map(({ child }) => child.pid ?? 0) });
    const when = sql`clock_timestamp() + make_interval(secs => ${LEAD_SECONDS} + random() * ${LATE_SECONDS})`;
    await fill(product, { count, when });
    await sleep((LEAD_SECONDS + LATE_SECONDS) * 1_000);
    await untilDone(product, TIMEOUT_MS);
    const used = use();
    const { lost, doubled } = await readOutcome(product, count);
    return { figures: figuresOf(await readLateness(product)), use: used, units: count, lost, doubled };
  } finally {
    await running.stop();
  }
}

/**
 * In milliseconds, of every action that was decided: `begun` when its transaction began, as the handler of other queues does;
 * `decided` when it was finished there.
 */
async function readLateness({ database }: Product): Promise<{ begun: number[]; decided: number[] }> {
  const { rows } = await database.db.$client.query<{ begun: number; decided: number }>(`
    select (extract(epoch from executed_at - due_at) * 1000)::float8 as begun,
           (extract(epoch from updated_at - due_at) * 1000)::float8 as decided
      from scheduled_action where status = 'done'`);
  return { begun: rows.map(({ begun }) => begun), decided: rows.map(({ decided }) => decided) };
}

function figuresOf({ begun, decided }: { begun: readonly number[]; decided: readonly number[] }) {
  const start = lateness(begun);
  const end = lateness(decided);
  return {
    ...{ 'start p50 ms': start.p50, 'start p99 ms': start.p99, 'start max ms': start.max, early: start.early },
    ...{ 'decided p50 ms': end.p50, 'decided p99 ms': end.p99 },
  };
}
