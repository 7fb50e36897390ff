import type { App, AppName } from '@dueline/demo';
import { untilReady } from '@dueline/demo';

export interface Running {
  /** The newest of each name. */
  readonly apps: readonly App[];
  /** Starts one again that ended, under its name; resolves when it is ready. */
  restart(name: AppName): Promise<void>;
  stop(): Promise<void>;
}

/** Every app that was started in one place. */
export interface Apps {
  /** Resolves when they are ready. @throws Error with the end of its log when one of them ends instead. */
  start(names: readonly AppName[], launch: (name: AppName) => Promise<App>): Promise<Running>;
  /** Rejects when an app ends by itself, with the end of its log; never resolves. */
  readonly broken: Promise<never>;
  stopAll(): Promise<void>;
}

const STOP_TIMEOUT_MS = 30_000;

/** Keeps what it starts in sight: an app that is left behind keeps the bench from ending, and one that is gone keeps it waiting. */
export function createApps(): Apps {
  const started: App[] = [];
  const told = new Set<App>();
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined); // whoever starts an app hears of it there; others while they measure
  const watched = async (launching: Promise<App>): Promise<App> => {
    const app = await launching;
    started.push(app);
    void app.gone.then(() => {
      const { exitCode } = app.child; // null: somebody killed it, who knows
      if (exitCode !== null && !told.has(app))
        broken.reject(new Error(`${app.name} ended by itself, with ${exitCode}:\n${app.tail()}`));
    });
    return app;
  };
  const stop = async (apps: readonly App[]) => {
    for (const app of apps) told.add(app);
    await Promise.all(apps.map((app) => app.stop(STOP_TIMEOUT_MS)));
  };
  return {
    broken: broken.promise,
    stopAll: () => stop(started),
    start: async (names, launch) => {
      const apps = await Promise.all(names.map((name) => watched(launch(name))));
      await Promise.all(apps.map((app) => untilReady(app)));
      return {
        apps,
        restart: async (name) => {
          const app = await watched(launch(name));
          apps[apps.findIndex((one) => one.name === name)] = app;
          await untilReady(app);
        },
        stop: () => stop(apps),
      };
    },
  };
}
