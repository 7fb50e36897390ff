import type { AppName } from '@dueline/demo';
import type { CrashPoint } from '@dueline/runtime';
import { CLEAN } from '@dueline/stress';
import { expect } from 'vitest';
import { type Stage, untilReached } from './stage.ts';

/**
 * `events`: changed attributes, with messages now and later; `campaigns`: a broadcast and a multicast of two chunks; `webhooks`: calls of a receiver;
 * `enrolment`: people who match a rule already; `cycles`: one of two pages.
 */
type Walk = 'events' | 'campaigns' | 'webhooks' | 'enrolment' | 'cycles';

interface Case {
  readonly app: AppName;
  /** The work that leads there. */
  readonly walks: readonly Walk[];
  /** What else leads the app to its point. */
  readonly env?: Readonly<Record<string, string>>;
  /** An app that must be away for that, and comes back after the death. */
  readonly away?: AppName;
}

const listener: Case = { app: 'pg-listener', walks: ['events'] };
const worker: Case = { app: 'trigger-worker', walks: ['events'] };
const cron: Case = { app: 'cron-scheduler', walks: ['events'] };
const ticking: Case = { app: 'cron-scheduler', walks: ['campaigns'] };
const dispatcher: Case = { app: 'campaign-dispatcher', walks: ['campaigns'] };
const sender: Case = { app: 'line-delivery', walks: ['events', 'campaigns'] };
const caller: Case = { app: 'line-delivery', walks: ['webhooks'] };
const starter: Case = { app: 'line-delivery', walks: ['campaigns'] };
const opener: Case = { app: 'cron-scheduler', walks: ['cycles'] };
const reader: Case = { app: 'trigger-worker', walks: ['cycles'] };

/** How each point there is comes to be reached; a new point without a case does not compile. */
const CASES: Readonly<Record<CrashPoint, Case>> = {
  'announce_event.claimed': listener,
  'announce_event.written': listener,
  'announce_event.published': listener,
  'decide_event.deciding': worker,
  'decide_event.committed': worker,
  'decide_event.handled': worker,
  'process_event.deciding': { ...worker, env: { INLINE_PROFILE: 'true' }, away: 'pg-listener' }, // else it announces them before
  'process_event.committed': { ...worker, env: { INLINE_PROFILE: 'true' }, away: 'pg-listener' },
  'announce_action.claimed': cron,
  'announce_action.written': cron,
  'announce_action.published': cron,
  'fire_action.deciding': worker,
  'fire_action.committed': worker,
  'fire_action.handled': worker,
  'process_due.deciding': { ...worker, env: { INLINE_PROFILE: 'true' } },
  'process_due.committed': { ...worker, env: { INLINE_PROFILE: 'true' } },
  'enrol.deciding': { app: 'trigger-worker', walks: ['enrolment'] },
  'hand_over.written': worker,
  'announce_delivery.claimed': { ...cron, away: 'line-delivery' },
  'announce_delivery.written': { ...cron, away: 'line-delivery' },
  'announce_delivery.published': { ...cron, away: 'line-delivery' },
  'send.started': sender,
  'send.answered': sender,
  'send.settled': sender,
  'webhook.started': caller,
  'webhook.answered': caller,
  'tick_campaign.keyed': ticking,
  'tick_campaign.written': ticking,
  'tick_campaign.published': ticking,
  'process_campaign.claimed': dispatcher,
  'process_campaign.written': dispatcher,
  'process_campaign.published': dispatcher,
  'start_campaign.freezing': starter,
  'start_campaign.frozen': starter,
  'start_campaign.written': starter,
  'start_campaign.handled': starter,
  'close_campaign.beaten': starter,
  'close_campaign.closed': starter,
  'open_cycle.opening': opener,
  'open_cycle.opened': opener,
  'announce_cycle.claimed': opener,
  'announce_cycle.written': opener,
  'announce_cycle.published': opener,
  'read_cycle.taken': reader,
  'read_cycle.reading': reader,
  'read_cycle.committed': reader,
  'read_cycle.handled': reader,
  'count_cycle.counting': opener,
};

type Kill = readonly [point: CrashPoint, recovery: 'restarted' | 'replaced'];

/** Every point that this walk leads to, once; how it recovers takes turns. `.ci/nightly` plays both ways (`allKillsOf`). */
export const killsOf = (walk: Walk): readonly Kill[] =>
  allKillsOf(walk).filter((_, at) => at % 4 === 0 || at % 4 === 3);

/** Every kill that this walk leads to, once with each way to recover. */
export const allKillsOf = (walk: Walk): readonly Kill[] =>
  (Object.keys(CASES) as CrashPoint[])
    .filter((point) => CASES[point].walks.includes(walk))
    .flatMap((point) => [[point, 'restarted'] as const, [point, 'replaced'] as const]);

/**
 * Gives the app work and kills it at the point, then starts it again or starts a replica of another name; what was planned
 * must have arrived once in the end. The work waits for the app, so that the first it does is what leads to the point.
 */
export async function killAt(
  stage: Stage,
  [point, recovery]: Kill,
  walk: 'events' | 'campaigns' | 'cycles',
): Promise<void> {
  const { app, env, away } = CASES[point];
  const { apps, start, restart } = stage.stack;
  const instance = `${point}-${recovery}`;
  const patienceMs = walk === 'cycles' ? 120_000 : undefined; // five hundred decisions, and a machine that has others at night
  await Promise.all([apps.get(app)?.stop(), away === undefined ? undefined : apps.get(away)?.stop()]);
  const planned = await { events: stage.wave, campaigns: stage.campaignWave, cycles: stage.cycleWave }[walk]();

  const dying = await start(app, { ...env, INSTANCE_NAME: instance, CRASH_AT: point });
  await untilReached(dying, { point, instance, patienceMs });
  await dying.gone;
  expect(dying.child.signalCode).toBe('SIGKILL');
  const successor = recovery === 'restarted' ? instance : `${instance}-2`;
  await Promise.all([restart(app, { INSTANCE_NAME: successor }), away === undefined ? undefined : restart(away)]);

  expect(await stage.outcome(planned, patienceMs)).toEqual(CLEAN);
}
