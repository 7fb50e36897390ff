import type { AppName } from '@dueline/demo';
import { createRandom, type Random } from './random.ts';

/** Accounts that the work is spread over. */
export const ACCOUNT_COUNT = 5;
/** Actions that are written per second. */
const RATE = 200;
const MAX_DELAY_SECONDS = 10;
/** The roles that work on waiting actions. */
export const ROLES = ['pg-listener', 'trigger-worker', 'cron-scheduler', 'line-delivery'] as const satisfies AppName[];
type Role = (typeof ROLES)[number];

/** How much of what; the seed says when and to whom. */
export interface Size {
  readonly seed: number;
  readonly actions: number;
  readonly processes: number;
  readonly kills: number;
  readonly stops: number;
  /** Messages that are lost or come again. */
  readonly messages: number;
  /** How long a lease is, in milliseconds: what is frozen is frozen for longer. */
  readonly leaseMs: number;
}

/** `plain`: after its delay. `checked`: if a condition still holds. `waiting`: at a click, or when the delay is over. */
type ActionKind = 'plain' | 'checked' | 'waiting';

export interface PlannedAction {
  readonly n: number;
  readonly account: number;
  readonly kind: ActionKind;
  readonly delaySeconds: number;
  /** Whether the condition of a checked one holds. */
  readonly holds: boolean;
  /** What a waiting one does that nobody clicked for. */
  readonly onExpired: 'skip' | 'run' | 'instead';
}

export type OperationKind = 'edit' | 'postpone' | 'fire_now' | 'cancel' | 'uncancel';

export interface PlannedStep {
  readonly kind: OperationKind;
  /** Somebody else saw the same, and edits it a moment later: that must be refused. */
  readonly hasRival: boolean;
  /** For a postponement. */
  readonly seconds: number;
}

interface Moment {
  /** Since the beginning, in milliseconds. */
  readonly atMs: number;
}

/** What happens in a run, all of it known before. */
export interface Plan {
  readonly durationMs: number;
  readonly actions: readonly PlannedAction[];
  readonly batches: readonly (Moment & { readonly first: number; readonly count: number })[];
  readonly clicks: readonly (Moment & { readonly n: number; readonly isRobot: boolean })[];
  /** What a person does to an action, one after the other; at most one person to an action. */
  readonly operations: readonly (Moment & { readonly n: number; readonly steps: readonly PlannedStep[] })[];
  readonly kills: readonly (Moment & { readonly role: Role; readonly slot: number; readonly isReplaced: boolean })[];
  readonly stops: readonly (Moment & { readonly role: Role; readonly slot: number; readonly forMs: number })[];
  /** Tickets that come again, under the fence of now or an older one. */
  readonly repeats: readonly (Moment & {
    readonly ns: readonly number[];
    readonly age: number;
    readonly of: 'action' | 'delivery';
  })[];
  /** Messages on their way that get lost, and that come twice. */
  readonly losses: number;
  readonly doubles: number;
}

/** The schedule of a seed: the same numbers make the same schedule. Pure. */
export function planRun(size: Size): Plan {
  const random = createRandom(size.seed);
  const durationMs = Math.ceil((size.actions / RATE) * 1_000);
  const maxDelay = Math.min(MAX_DELAY_SECONDS, Math.max(3, Math.ceil(durationMs / 2_000)));
  const { actions, batches } = planActions(random, size.actions, maxDelay);
  const writtenAt = (n: number): number => (n / RATE) * 1_000;
  const repeats = planRepeats(random, { count: Math.floor(size.messages / 2), batches, durationMs });
  const onWay = size.messages - repeats.length;
  return {
    ...{ durationMs, actions, batches, repeats },
    clicks: planClicks(random, actions, writtenAt),
    operations: planOperations(random, actions, writtenAt),
    ...planFaults(random, size, durationMs + (maxDelay * 1_000) / 2),
    losses: Math.ceil(onWay / 2),
    doubles: Math.floor(onWay / 2),
  };
}

function planActions(random: Random, count: number, maxDelay: number): Pick<Plan, 'actions' | 'batches'> {
  const actions: PlannedAction[] = [];
  const batches: { atMs: number; first: number; count: number }[] = [];
  while (actions.length < count) {
    const first = actions.length;
    const size = Math.min(random.int(20, 120), count - first);
    const account = random.int(0, ACCOUNT_COUNT - 1);
    for (let n = first; n < first + size; n += 1) actions.push(planAction(random, { n, account, maxDelay }));
    batches.push({ atMs: (first / RATE) * 1_000, first, count: size });
  }
  return { actions, batches };
}

function planAction(
  random: Random,
  { n, account, maxDelay }: { n: number; account: number; maxDelay: number },
): PlannedAction {
  const kind = random.pick(['plain', 'plain', 'plain', 'plain', 'checked', 'waiting'] as const);
  return {
    ...{ n, account, kind },
    delaySeconds: kind === 'waiting' ? random.int(1, Math.ceil(maxDelay / 2)) : random.int(0, maxDelay),
    holds: kind !== 'checked' || random.chance(0.7),
    onExpired: random.pick(['skip', 'run', 'instead']),
  };
}

/** Two of three who are waited for click, some of them too late; some click twice, and some are robots. */
function planClicks(
  random: Random,
  actions: readonly PlannedAction[],
  writtenAt: (n: number) => number,
): Plan['clicks'] {
  const clicks = actions
    .filter(({ kind }) => kind === 'waiting')
    .flatMap(({ n, delaySeconds }) =>
      Array.from({ length: random.int(0, 2) }, () => ({
        ...{ n, isRobot: random.chance(0.1) },
        atMs: writtenAt(n) + random.int(200, delaySeconds * 1_300),
      })),
    );
  return clicks.toSorted((a, b) => a.atMs - b.atMs);
}

/** One action in ten is changed by a person, some of them several times. */
function planOperations(
  random: Random,
  actions: readonly PlannedAction[],
  writtenAt: (n: number) => number,
): Plan['operations'] {
  const step = (kind: OperationKind): PlannedStep => ({
    kind,
    hasRival: random.chance(0.4),
    seconds: random.int(1, 3),
  });
  const stepsOf = random.pick<() => PlannedStep[]>;
  const operations = actions.flatMap(({ n, delaySeconds }) => {
    if (!random.chance(0.1)) return [];
    const make = stepsOf([
      () => [step('edit')],
      () => [step('postpone')],
      () => [step('fire_now')],
      () => [step('cancel')],
      () => [step('edit'), step('postpone'), step('edit')],
      () => [step('cancel'), step('uncancel')],
      () => [step('edit'), step('fire_now'), step('cancel')],
    ]);
    return [{ n, steps: make(), atMs: writtenAt(n) + random.int(0, delaySeconds * 1_000 + 300) }];
  });
  return operations.toSorted((a, b) => a.atMs - b.atMs);
}

function planFaults(random: Random, size: Size, untilMs: number): Pick<Plan, 'kills' | 'stops'> {
  const victim = () => ({
    atMs: random.int(1_000, untilMs),
    role: random.pick(ROLES),
    slot: random.int(0, size.processes - 1),
  });
  const kills = Array.from({ length: size.kills }, () => ({ ...victim(), isReplaced: random.chance(0.5) }));
  const stops = Array.from({ length: size.stops }, () => ({
    ...victim(),
    forMs: size.leaseMs + random.int(200, 2_000),
  }));
  return { kills: kills.toSorted((a, b) => a.atMs - b.atMs), stops: stops.toSorted((a, b) => a.atMs - b.atMs) };
}

function planRepeats(
  random: Random,
  { count, batches, durationMs }: Pick<Plan, 'batches' | 'durationMs'> & { count: number },
): Plan['repeats'] {
  const repeats = Array.from({ length: count }, () => {
    const batch = random.pick(batches);
    const ns = Array.from({ length: random.int(1, 8) }, () => batch.first + random.int(0, batch.count - 1));
    return {
      ...{ ns: [...new Set(ns)], age: random.pick([0, 0, 1, 2]), of: random.pick(['action', 'delivery'] as const) },
      atMs: batch.atMs + random.int(500, Math.max(1_000, Math.min(12_000, durationMs))),
    };
  });
  return repeats.toSorted((a, b) => a.atMs - b.atMs);
}
