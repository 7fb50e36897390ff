import { meterProcessors } from '../measure/processor.ts';
import type { Contestant, Sample } from '../measure/rounds.ts';
import type { Product } from './product.ts';
import type { Profile } from './profiles.ts';
import type { Running } from './running.ts';
import type { Stage } from './stage.ts';
import { clear, DUE, fill, hold, letGo, readOutcome, settle, untilDone } from './work.ts';

const TIMEOUT_MS = 600_000;

export interface DrainOptions {
  readonly count: number;
  readonly profile: Profile;
  /** Replicas of each app; one of each unless given. */
  readonly scanners?: number;
  readonly workers?: number;
  /** Keeps what waits for a time to come. */
  readonly keepWaiting?: boolean;
  readonly name?: string;
  /** What happens between the filling and the start; @returns what ends it. */
  readonly beside?: () => Promise<() => Promise<void>>;
}

/** Our own apps from the moment in which the actions may be claimed until the last one is decided. */
export const drainContestant = (stage: Stage, product: Product, options: DrainOptions): Contestant => ({
  name: options.name ?? options.profile.name,
  settings: options.profile.settings,
  run: () => drain(stage, product, options),
});

async function drain(stage: Stage, product: Product, options: DrainOptions): Promise<Sample> {
  const { count, keepWaiting = false } = options;
  await clear(product, { keepWaiting });
  await hold(product);
  await fill(product, { count, when: DUE });
  await settle(product);
  const endBeside = await options.beside?.();
  const running = await startReplicas(product, options);
  try {
    const groups = {
      ...stage.servers,
      apps: () => running.flatMap(({ apps }) => apps.map(({ child }) => child.pid ?? 0)),
    };
    const use = meterProcessors(groups);
    const startedAt = await letGo(product);
    await untilDone(product, TIMEOUT_MS);
    const used = use();
    const { lost, doubled, lastAt } = await readOutcome(product, count);
    return { figures: { 'actions/s': count / ((lastAt - startedAt) / 1_000) }, use: used, units: count, lost, doubled };
  } finally {
    await Promise.all(running.map((replica) => replica.stop()));
    await endBeside?.();
  }
}

async function startReplicas(
  product: Product,
  { profile, scanners = 1, workers = 1 }: DrainOptions,
): Promise<Running[]> {
  const replicas = (name: 'cron-scheduler' | 'trigger-worker', count: number) =>
    Array.from({ length: count }, (_, n) =>
      product.start({ ...profile.env, INSTANCE_NAME: `bench-${name}-${n}` }, [name]),
    );
  return Promise.all([...replicas('cron-scheduler', scanners), ...replicas('trigger-worker', workers)]);
}
