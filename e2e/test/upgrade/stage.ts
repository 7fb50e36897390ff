import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, openDatabase } from '@dueline/db';
import {
  APP_NAMES,
  type App,
  type AppName,
  createPlace,
  type LineSimulator,
  type Place,
  ROOT,
  startApp,
  startSimulator,
  travel,
  untilReady,
} from '@dueline/demo';
import { inject } from 'vitest';
import { checkOut, execute } from './check-out.ts';
import type { Release } from './release.ts';
import { restore } from './restore.ts';
import { SECRETS_KEY, SETTINGS } from './story.ts';

/** Which code a process runs: that of the kept release, or that of the working tree. */
type Age = 'old' | 'new';

/** A database of the kept release, and processes of both ages on it. */
export interface Stage {
  readonly database: Database;
  readonly line: LineSimulator;
  readonly place: Place;
  /** Runs a command of ops of the release. @returns What it wrote. */
  oldOps(...args: readonly string[]): Promise<string>;
  /** Runs in-old-main.ts from its sources. @returns What it wrote. */
  inOld(...args: readonly string[]): Promise<string>;
  /** Starts these apps (all unless named); resolves when they are ready. */
  start(age: Age, names?: readonly AppName[]): Promise<void>;
  /** Stops these apps in order, as a deployment does. @throws Error when one does not end by itself with 0. */
  stop(age: Age, names?: readonly AppName[]): Promise<void>;
  kill(age: Age, name: AppName): Promise<void>;
  /** Moves product time ahead, here and at LINE. */
  travel(seconds: number): Promise<void>;
  /** Everything that the processes of this age have logged. */
  logs(age: Age): string;
  /** Processes that ended though nobody ended them. */
  ended(): readonly string[];
  end(): Promise<void>;
}

/** Restores what the release left into a place of its own, and declares its queues. */
export async function startStage({ commit, dumpedAt, channels }: Release): Promise<Stage> {
  const undo: (() => Promise<unknown>)[] = [];
  const end = async () => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  const name = `dueline_upgrade_${randomBytes(4).toString('hex')}`;
  const logFolder = join(ROOT, '.dueline/logs', name);
  try {
    const [old, place, line] = await all([
      putAway(checkOutWithTools(commit), (folder) => undo.push(() => rm(folder, { recursive: true, force: true }))),
      putAway(restoredPlace(name, dumpedAt), (it) => undo.push(it.remove)),
      putAway(startSimulator(channels, logFolder), (it) => undo.push(() => it.process.stop())),
    ]);
    const database = openDatabase({
      ...{ url: place.databaseUrl, applicationName: 'upgrade', maxConnections: 4 },
      onError: () => undefined, // the statement in hand throws
    });
    undo.push(database.close);
    const fleet = createFleet({ place, line, old, logFolder });
    undo.push(fleet.end);
    const clock = await clockOf(database, line);
    return {
      ...{ database, line, place, ...fleet, end },
      travel: async (seconds) => {
        await travel(database.db, clock, seconds);
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** As Promise.all, but when one fails the others have ended, too. */
async function all<Results extends readonly unknown[]>(
  works: {
    readonly [Key in keyof Results]: Promise<Results[Key]>;
  },
): Promise<Results> {
  await Promise.allSettled(works);
  return (await Promise.all(works)) as unknown as Results;
}

async function putAway<Result>(work: Promise<Result>, remember: (result: Result) => unknown): Promise<Result> {
  const result = await work;
  remember(result);
  return result;
}

async function checkOutWithTools(commit: string): Promise<string> {
  const folder = await checkOut(commit);
  for (const file of ['in-old-main.ts', 'read-messages.ts'])
    await cp(join(import.meta.dirname, file), join(folder, 'apps/ops/src', file));
  return folder;
}

async function restoredPlace(name: string, dumpedAt: string): Promise<Place> {
  const place = await createPlace(servicesOfThisRun(), name);
  try {
    await restore(place.databaseUrl, dumpedAt);
    return place;
  } catch (error) {
    await place.remove();
    throw error;
  }
}

/** LINE's clock is the machine's: it moves as far as product time does. */
async function clockOf({ db }: Database, line: LineSimulator): Promise<Pick<LineSimulator, 'moveClock'>> {
  const { rows } = await db.$client.query<{ ahead: number }>(
    'select extract(epoch from ahead)::float as ahead from product_time_offset',
  );
  const ahead = (rows[0]?.ahead ?? 0) * 1_000;
  return { moveClock: (aheadMs) => line.moveClock(Math.max(0, Math.round(aheadMs - ahead))) };
}

const servicesOfThisRun = () => ({
  databaseUrl: inject('postgresUrl'),
  amqpUrl: inject('amqpUrl'),
  amqpManagementUrl: inject('amqpManagementUrl'),
  redisUrl: inject('redisUrl'),
});

interface FleetOptions {
  readonly place: Place;
  readonly line: LineSimulator;
  /** The sources of the release. */
  readonly old: string;
  readonly logFolder: string;
}

function createFleet({ place, line, old, logFolder }: FleetOptions) {
  const { databaseUrl, amqpUrl, amqpManagementUrl, redisUrl, logins } = place;
  const running = new Map<string, App>();
  const ended: string[] = [];
  const expected = new WeakSet<App>();
  const folderOf = (age: Age) => (age === 'old' ? old : ROOT);
  const node = async (args: readonly string[]): Promise<string> => {
    const env = {
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      AMQP_URL: amqpUrl,
      AMQP_MANAGEMENT_URL: amqpManagementUrl,
    };
    const { stdout } = await execute(process.execPath, [...args], { cwd: join(old, 'apps/ops'), env });
    return stdout;
  };
  const settings = {
    ...{ databaseUrl, amqpUrl, redisUrl, logins, lineApiUrl: line.apiUrl, secretsKey: SECRETS_KEY.toString('base64') },
  };
  const startOne = async (age: Age, name: AppName): Promise<void> => {
    const app = await startApp(name, {
      ...{ ...settings, appsFolder: join(folderOf(age), 'apps'), logFolder: join(logFolder, age) },
      env: {
        ...{ ...SETTINGS, INSTANCE_NAME: `${age}-${name}` },
        ...(age === 'old' && { DATABASE_URL: databaseUrl, AMQP_URL: amqpUrl }), // the release knows no other role than the owner
      },
    });
    running.set(`${age} ${name}`, app);
    void app.gone.then(() => {
      if (!expected.has(app)) ended.push(`${age} ${name} ended with ${app.child.signalCode ?? app.child.exitCode}`);
    });
    await untilReady(app);
  };
  const take = (age: Age, name: AppName): App => {
    const app = running.get(`${age} ${name}`);
    if (app === undefined) throw new Error(`no ${age} ${name} runs`);
    running.delete(`${age} ${name}`);
    expected.add(app);
    return app;
  };
  const stopOne = async (age: Age, name: AppName): Promise<void> => {
    const app = take(age, name);
    await app.stop(60_000);
    if (app.child.exitCode !== 0) throw new Error(`${age} ${name} did not stop in order:\n${app.tail()}`);
  };
  return {
    oldOps: (...args: readonly string[]) => node(['src/main.ts', ...args]),
    inOld: (...args: readonly string[]) => node(['src/in-old-main.ts', ...args]),
    start: async (age: Age, names: readonly AppName[] = APP_NAMES) => {
      await Promise.all(names.map((name) => startOne(age, name)));
    },
    stop: async (age: Age, names: readonly AppName[] = APP_NAMES) => {
      await Promise.all(names.map((name) => stopOne(age, name)));
    },
    kill: async (age: Age, name: AppName) => {
      const app = take(age, name);
      app.child.kill('SIGKILL');
      await app.gone;
    },
    logs: (age: Age) => {
      const folder = join(logFolder, age);
      return readdirSync(folder)
        .map((file) => readFileSync(join(folder, file), 'utf8'))
        .join('\n');
    },
    ended: () => ended,
    end: async () => {
      for (const app of running.values()) expected.add(app);
      await Promise.all([...running.values()].map((app) => app.stop()));
    },
  };
}
