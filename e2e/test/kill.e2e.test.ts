import type { AppName } from '@dueline/demo';
import type { CrashPoint } from '@dueline/runtime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CLEAN } from './kill/history.ts';
import { type Stage, startStage, untilReached } from './kill/stage.ts';

interface Case {
  readonly app: AppName;
  /** What leads the app to its point. */
  readonly env?: Readonly<Record<string, string>>;
  /** An app that must be away for that, and comes back after the death. */
  readonly away?: AppName;
}

/** How each point there is comes to be reached; a new point without a case does not compile. */
const CASES: Readonly<Record<CrashPoint, Case>> = {
  'announce_event.claimed': { app: 'pg-listener' },
  'announce_event.written': { app: 'pg-listener' },
  'announce_event.published': { app: 'pg-listener' },
  'decide_event.deciding': { app: 'trigger-worker' },
  'decide_event.committed': { app: 'trigger-worker' },
  'decide_event.handled': { app: 'trigger-worker' },
  'announce_action.claimed': { app: 'cron-scheduler' },
  'announce_action.written': { app: 'cron-scheduler' },
  'announce_action.published': { app: 'cron-scheduler' },
  'fire_action.deciding': { app: 'trigger-worker' },
  'fire_action.committed': { app: 'trigger-worker' },
  'fire_action.handled': { app: 'trigger-worker' },
  'process_due.deciding': { app: 'trigger-worker', env: { INLINE_PROFILE: 'true' } },
  'process_due.committed': { app: 'trigger-worker', env: { INLINE_PROFILE: 'true' } },
  'hand_over.written': { app: 'trigger-worker' },
  'announce_delivery.claimed': { app: 'cron-scheduler', away: 'line-delivery' },
  'announce_delivery.written': { app: 'cron-scheduler', away: 'line-delivery' },
  'announce_delivery.published': { app: 'cron-scheduler', away: 'line-delivery' },
  'send.started': { app: 'line-delivery' },
  'send.answered': { app: 'line-delivery' },
  'send.settled': { app: 'line-delivery' },
};
const POINTS = Object.keys(CASES) as CrashPoint[];

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage?.stack.stop());

/** Replaces the running app by one that dies at `point`, and whoever must be away for it by nobody. */
async function prepare(point: CrashPoint, { instance, how = '' }: { instance: string; how?: string }) {
  const { app, env, away } = CASES[point];
  const { apps, restart } = stage.stack;
  await Promise.all([apps.get(app)?.stop(), away === undefined ? undefined : apps.get(away)?.stop()]);
  return restart(app, { ...env, INSTANCE_NAME: instance, CRASH_AT: `${point}${how}` });
}

test.for(POINTS.flatMap((point) => [[point, 'restarted'] as const, [point, 'replaced'] as const]))(
  'killed at %s and %s: nothing is lost, doubled or stuck',
  async ([point, recovery]) => {
    const instance = `${point}-${recovery}`;
    const { app, away } = CASES[point];
    const dying = await prepare(point, { instance });

    const planned = await stage.wave();
    await untilReached(dying, { point, instance });
    await dying.gone;
    expect(dying.child.signalCode).toBe('SIGKILL');
    const successor = recovery === 'restarted' ? instance : `${instance}-2`;
    await Promise.all([
      stage.stack.restart(app, { INSTANCE_NAME: successor }),
      away === undefined ? undefined : stage.stack.restart(away),
    ]);

    expect(await stage.outcome(planned)).toEqual(CLEAN);
  },
);

test('over everything that was written here: nothing is lost, doubled or stuck', async () => {
  expect(await stage.outcomeOfAll()).toEqual(CLEAN);
});
