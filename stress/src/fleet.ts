import { APP_NAMES, type App, type AppName, type Stack, untilReady } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import type { Plan } from './plan.ts';

/** A place in a role: one process at a time. */
interface Slot {
  readonly role: AppName;
  instance: string;
  app: App;
  /** Frozen, or between two processes. */
  isDown: boolean;
}

/** The processes of every role, some of which die or freeze. */
export interface Fleet {
  readonly counts: { kills: number; stops: number };
  /** Processes that ended though nobody ended them: each is a violation. */
  readonly ended: readonly string[];
  /** Whoever runs now, by role. */
  readonly running: () => readonly { readonly role: AppName; readonly pid: number | undefined }[];
  /** SIGKILL; a successor starts at once, under the same name or a new one. */
  kill(kill: Omit<Plan['kills'][number], 'atMs' | 'role'> & { readonly role: AppName }): Promise<void>;
  /** SIGSTOP, and SIGCONT later. */
  freeze(stop: Plan['stops'][number]): Promise<void>;
  /** Stops all of them in order, and starts them again after `meanwhile`; resolves when all are ready. */
  restart(meanwhile: () => Promise<void>): Promise<void>;
}

/** Puts so many processes beside each other in each of these roles; resolves when all are ready. */
export async function startFleet(stack: Stack, processes: Readonly<Partial<Record<AppName, number>>>): Promise<Fleet> {
  const { watch, dying, ended } = createWatch();
  const slots: Slot[] = [];
  for (const role of APP_NAMES) {
    for (let place = 0; place < (processes[role] ?? 0); place += 1) {
      const own = place === 0 ? stack.apps.get(role) : undefined;
      const instance = own === undefined ? `stress-${role}-${place}` : `demo-${role}`;
      const app = own ?? (await stack.start(role, { INSTANCE_NAME: instance }));
      const slot: Slot = { role, instance, app, isDown: false };
      slots.push(slot);
      watch(slot);
    }
  }
  const untilAllReady = async () => {
    await Promise.all(slots.map(({ app }) => untilReady(app, READY_TIMEOUT_MS)));
  };
  await untilAllReady();

  const counts = { kills: 0, stops: 0 };
  const victim = (role: AppName, place: number): Promise<Slot> =>
    untilUp(
      slots.filter((slot) => slot.role === role),
      place,
    );
  const start = async (slot: Slot): Promise<void> => {
    slot.app = await stack.start(slot.role, { INSTANCE_NAME: slot.instance });
    watch(slot);
    slot.isDown = false;
  };
  return {
    ...{ counts, ended, running: () => slots.map(({ role, app }) => ({ role, pid: app.child.pid })) },
    kill: async ({ role, slot: place, isReplaced }) => {
      const slot = await victim(role, place);
      slot.isDown = true;
      dying.add(slot.app);
      slot.app.child.kill('SIGKILL');
      await slot.app.gone;
      counts.kills += 1;
      if (isReplaced) slot.instance = `stress-${role}-after-${counts.kills}`;
      await start(slot);
    },
    freeze: async ({ role, slot: place, forMs }) => freezeSlot(await victim(role, place), forMs, counts),
    restart: async (meanwhile) => {
      // Whoever is being replaced is waited for, and nobody dies meanwhile.
      for (const slot of slots) (await untilUp([slot], 0)).isDown = true;
      await Promise.all(slots.map(({ app }) => app.stop()));
      await meanwhile();
      for (const slot of slots) await start(slot);
      await untilAllReady();
    },
  };
}

function createWatch() {
  const ended: string[] = [];
  const dying = new WeakSet<App>();
  const watch = (slot: Slot): void => {
    const { app, instance } = slot;
    void app.gone.then(() => {
      const { exitCode, signalCode } = app.child;
      if (!dying.has(app) && signalCode !== 'SIGTERM' && exitCode !== 0)
        ended.push(`${instance} ended with ${signalCode ?? exitCode}`);
    });
  };
  return { watch, dying, ended };
}

async function freezeSlot(slot: Slot, forMs: number, counts: Fleet['counts']): Promise<void> {
  slot.isDown = true;
  slot.app.child.kill('SIGSTOP');
  await sleep(forMs);
  slot.app.child.kill('SIGCONT');
  counts.stops += 1;
  slot.isDown = false;
}

const READY_TIMEOUT_MS = 90_000;
const POLL_MS = 50;

/** The slot of that place, or the next one that is up; waits while none is. */
async function untilUp(slots: readonly Slot[], place: number): Promise<Slot> {
  for (;;) {
    const slot = [...slots.slice(place), ...slots.slice(0, place)].find(({ isDown }) => !isDown);
    if (slot !== undefined) return slot;
    await sleep(POLL_MS);
  }
}
