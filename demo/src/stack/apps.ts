import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '@dueline/kernel';
import { type AppLogins, asLogin } from '@dueline/local-services';
import { type OurProcess, ROOT, spawnNode } from './process.ts';

/** The apps of the walk, and what each is told besides the common settings. */
const APPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'pg-listener': { OUTBOX_LEASE_SECONDS: '10' },
  'trigger-worker': { CLAIM_LEASE_SECONDS: '10', WAIT_GRACE_SECONDS: '1' },
  'cron-scheduler': {
    CLAIM_LEASE_SECONDS: '10',
    WAIT_GRACE_SECONDS: '1',
    REAP_INTERVAL_SECONDS: '1',
    CAMPAIGN_TICK_INTERVAL_SECONDS: '1',
  },
  'campaign-dispatcher': { CAMPAIGN_STALE_SECONDS: '8', REAP_INTERVAL_SECONDS: '1' },
  'line-delivery': {
    ...{ ATTEMPT_DEADLINE_SECONDS: '2', SETTLE_MARGIN_SECONDS: '1', LEASE_MARGIN_SECONDS: '3' },
    ...{ CAMPAIGN_STALE_SECONDS: '8', CAMPAIGN_CLOSE_INTERVAL_SECONDS: '1' },
  },
};

export type AppName = 'pg-listener' | 'trigger-worker' | 'cron-scheduler' | 'campaign-dispatcher' | 'line-delivery';
export const APP_NAMES = Object.keys(APPS) as readonly AppName[];

export interface App extends OurProcess {
  /** Base URL of its health and metrics, on a port that it chose itself; undefined before it serves them. */
  readonly url: () => string | undefined;
}

export interface AppSettings {
  readonly databaseUrl: string;
  readonly amqpUrl: string;
  readonly redisUrl: string;
  /** By what each app logs in at the database and the broker. */
  readonly logins: AppLogins;
  readonly lineApiUrl: string;
  readonly secretsKey: string;
  readonly logFolder: string;
  /** Overrides for every app, e.g. a trace collector. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where the apps lie; the working tree unless given. */
  readonly appsFolder?: string;
  /** Leaves the apps their own defaults, as production has them, instead of leases and intervals in seconds. */
  readonly asInProduction?: boolean;
}

/** Starts one app of the working tree. It is not ready yet: see {@link untilReady}. */
export async function startApp(name: AppName, settings: AppSettings): Promise<App> {
  const logFile = join(settings.logFolder, `${name}.log`);
  const before = existsSync(logFile) ? statSync(logFile).size : 0;
  const instance = settings.env?.INSTANCE_NAME ?? `demo-${name}`;
  const cwd = join(settings.appsFolder ?? join(ROOT, 'apps'), name);
  const app = spawnNode({
    name,
    args: ['src/main.ts'],
    cwd,
    logFile,
    env: {
      DUELINE_PARENT_PID: String(process.pid),
      INSTANCE_NAME: instance,
      HTTP_HOST: '127.0.0.1',
      HTTP_PORT: '0',
      DATABASE_URL: asLogin(settings.databaseUrl, settings.logins[name]),
      AMQP_URL: asLogin(settings.amqpUrl, settings.logins[name]),
      REDIS_URL: settings.redisUrl,
      LINE_API_URL: settings.lineApiUrl,
      SECRETS_KEY: settings.secretsKey,
      ...(settings.asInProduction ? {} : { DUELINE_ENV: 'test', ...APPS[name] }), // test opens the short leases
      ...settings.env,
    },
  });
  return { ...app, url: () => urlInLog(readFileSync(logFile).subarray(before).toString('utf8'), instance) };
}

/** An app tells its port in its log, which it shares with its replicas. */
function urlInLog(log: string, instance: string): string | undefined {
  const marks = [`"instance":"${instance}"`, '"msg":"health and metrics are served"'];
  const line = log.split('\n').find((text) => marks.every((mark) => text.includes(mark)));
  const port = /"port":(\d+)/.exec(line ?? '')?.[1];
  return port === undefined ? undefined : `http://127.0.0.1:${port}`;
}

/** Resolves when /readyz says ready. @throws Error with the end of its log when the app ends or is not ready in time. */
export async function untilReady(app: App, timeoutMs = 90_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let answer = 'no answer yet';
  while (performance.now() < deadline) {
    const { exitCode, signalCode } = app.child;
    if (exitCode !== null || signalCode !== null)
      throw new Error(`${app.name} ended with ${signalCode ?? exitCode}:\n${app.tail()}`);
    const url = app.url();
    try {
      if (url !== undefined) {
        const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
        if (response.ok) return;
        answer = await response.text();
      }
    } catch (error) {
      answer = String(error);
    }
    await sleep(50);
  }
  throw new Error(`${app.name} was not ready in ${timeoutMs} ms (${answer.trim()}):\n${app.tail()}`);
}
