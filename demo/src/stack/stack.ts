import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { QUEUES } from '@dueline/contracts';
import { type Database, installTimeMachine, migrate, openDatabase, type ProductTime } from '@dueline/db';
import type { ChannelConfig } from '@dueline/line-simulator';
import { type AppLogins, provideServices, type Services } from '@dueline/local-services';
import { declareTopology, type Log } from '@dueline/mq';
import { APP_NAMES, type App, type AppName, type AppSettings, startApp, untilReady } from './apps.ts';
import { newLogFolder } from './logs.ts';
import { createPlace, type Place } from './place.ts';
import { ROOT } from './process.ts';
import { type LineSimulator, startSimulator } from './simulator.ts';
import { travel } from './travel.ts';

/** Everything that a running Dueline consists of, on this machine, with a simulated LINE. */
export interface Stack {
  readonly database: Database;
  readonly databaseUrl: string;
  /** With its vhost as the path. */
  readonly amqpUrl: string;
  readonly amqpManagementUrl: string;
  readonly redisUrl: string;
  /** By what each app logs in; the URLs above are those of the owner. */
  readonly logins: AppLogins;
  readonly line: LineSimulator;
  readonly apps: ReadonlyMap<AppName, App>;
  readonly secretsKey: Buffer;
  readonly logFolder: string;
  readonly source: Services['source'];
  /**
   * Starts an app again that was stopped or killed, under the same instance name, or beside it as a replica under the
   * INSTANCE_NAME in `env`, which overrides its settings. It is not ready yet; `apps` holds the newest of each.
   */
  start(name: AppName, env?: Readonly<Record<string, string>>): Promise<App>;
  /** The same; resolves when it is ready. */
  restart(name: AppName, env?: Readonly<Record<string, string>>): Promise<App>;
  /** Moves product time ahead, here and at LINE (not asInProduction); resolves when what came due by it has been claimed. */
  travel(seconds: number): Promise<ProductTime>;
  /** Ends everything in order and removes its data. May be called again. */
  stop(): Promise<void>;
}

export interface StackOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly channels: readonly ChannelConfig[];
  /** In the names of its database and vhost; `stack` unless given. */
  readonly name?: string;
  readonly tell: (line: string) => void;
  readonly appEnv?: Readonly<Record<string, string>>;
  readonly appsFolder?: string;
  readonly asInProduction?: boolean;
}

const quiet: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Starts services, a database and a vhost of its own, the simulator and the apps; resolves when all are ready. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const undo: (() => Promise<void>)[] = [];
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= undoAll(undo);
    return stopping;
  };
  try {
    return { ...(await startAll(options, undo)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function undoAll(undo: readonly (() => Promise<void>)[]): Promise<void> {
  for (const step of undo.toReversed()) await step();
}

async function startAll(options: StackOptions, undo: (() => Promise<void>)[]): Promise<Omit<Stack, 'stop'>> {
  const { env, tell, channels } = options;
  const id = randomBytes(4).toString('hex');
  const stateFolder = join(ROOT, '.dueline');
  const logFolder = newLogFolder(join(stateFolder, 'logs'), id);
  const services = await provideServices({ stateFolder, env, log: tell });
  undo.push(services.stop);

  const place = await createPlace(services.urls, `dueline_${options.name ?? 'stack'}_${id}`);
  undo.push(place.remove);
  const line = await prepare({ place, channels, logFolder });
  undo.push(() => line.process.stop());
  const database = openDatabase({
    url: place.databaseUrl,
    applicationName: 'demo',
    maxConnections: 4,
    onError: (error) => tell(`database: ${error instanceof Error ? error.message : 'connection broke'}`),
  });
  undo.push(database.close);
  if (!options.asInProduction) await installTimeMachine(database.db);

  const secretsKey = randomBytes(32);
  const settings: AppSettings = {
    databaseUrl: place.databaseUrl,
    amqpUrl: place.amqpUrl,
    redisUrl: place.redisUrl,
    logins: place.logins,
    lineApiUrl: line.apiUrl,
    secretsKey: secretsKey.toString('base64'),
    logFolder,
    ...(options.appEnv === undefined ? {} : { env: options.appEnv }),
    ...(options.appsFolder === undefined ? {} : { appsFolder: options.appsFolder }),
    ...(options.asInProduction === undefined ? {} : { asInProduction: options.asInProduction }),
  };
  const all: App[] = [];
  undo.push(async () => {
    await Promise.all(all.map((app) => app.stop()));
  });
  const apps = await startApps(all, settings);
  const { databaseUrl, amqpUrl, amqpManagementUrl, redisUrl } = place;
  const { source } = services;
  return {
    ...{ database, databaseUrl, amqpUrl, amqpManagementUrl, redisUrl, line, apps, secretsKey, logFolder, source },
    logins: place.logins,
    ...createStarts(all, { apps, settings }),
    travel: (seconds) => travel(database.db, line, seconds),
  };
}

/** @param all Gets each app that is started, so that all are stopped in the end. */
function createStarts(
  all: App[],
  { apps, settings }: { apps: Map<AppName, App>; settings: AppSettings },
): Pick<Stack, 'start' | 'restart'> {
  const start: Stack['start'] = async (name, env = {}) => {
    const app = await startApp(name, { ...settings, env: { ...settings.env, ...env } });
    all.push(app);
    apps.set(name, app);
    return app;
  };
  return {
    start,
    restart: async (name, env) => {
      const app = await start(name, env);
      await untilReady(app);
      return app;
    },
  };
}

async function prepare(stage: {
  place: Place;
  channels: readonly ChannelConfig[];
  logFolder: string;
}): Promise<LineSimulator> {
  const { databaseUrl, amqpUrl, amqpManagementUrl } = stage.place;
  const [line] = await Promise.all([
    startSimulator(stage.channels, stage.logFolder),
    migrate({ url: databaseUrl }),
    declareTopology({ url: amqpUrl, managementUrl: amqpManagementUrl, queues: QUEUES, log: quiet }),
  ]);
  return line;
}

/** @param all Gets each app as it starts, so that all are stopped whatever happens next. */
async function startApps(all: App[], settings: AppSettings): Promise<Map<AppName, App>> {
  const apps = new Map<AppName, App>();
  for (const name of APP_NAMES) {
    const app = await startApp(name, settings);
    all.push(app);
    apps.set(name, app);
  }
  await Promise.all([...apps.values()].map((app) => untilReady(app)));
  return apps;
}
