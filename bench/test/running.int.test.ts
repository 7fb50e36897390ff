import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, type AppName, startApp } from '@dueline/demo';
import { newAppLogins } from '@dueline/local-services';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createApps } from '../src/product/running.ts';

test('an app that cannot start ends the wait with its log, and those beside it are stopped', {
  timeout: 90_000,
}, async () => {
  const logFolder = await mkdtemp(join(tmpdir(), 'bench-'));
  onTestFinished(() => rm(logFolder, { recursive: true }));
  const launched: App[] = [];
  const launch = async (name: AppName): Promise<App> => {
    const app = await startApp(name, {
      ...{ databaseUrl: inject('postgresUrl'), amqpUrl: 'amqp://127.0.0.1:9', redisUrl: 'redis://127.0.0.1:9' },
      ...{
        logins: newAppLogins('bench'),
        lineApiUrl: 'http://127.0.0.1:9',
        secretsKey: randomBytes(32).toString('base64'),
      },
      ...{ logFolder, asInProduction: true, env: name === 'trigger-worker' ? { CLAIM_LEASE_SECONDS: '1' } : {} },
    });
    launched.push(app);
    return app;
  };
  const apps = createApps();
  await expect(apps.start(['pg-listener', 'trigger-worker'], launch)).rejects.toThrow(
    /trigger-worker ended[\s\S]*CLAIM_LEASE/,
  );
  await expect(apps.broken).rejects.toThrow('trigger-worker ended by itself');

  await apps.stopAll();
  for (const { child } of launched) expect(child.exitCode ?? child.signalCode).not.toBeNull();
});
