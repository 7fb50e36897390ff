import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPlace, type Place, startApp, untilReady } from '@dueline/demo';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { ROOT, run } from './support.ts';

const APPS = ['pg-listener', 'trigger-worker', 'cron-scheduler', 'campaign-dispatcher', 'line-delivery'] as const;

let folder: string;
let place: Place;

/** What the image of an app holds: the steps of the Dockerfile, without an engine. */
async function buildFolder(app: string): Promise<string> {
  const out = join(folder, app);
  const built = await run(join(ROOT, 'infra/docker/build-folder.sh'), [app, out]);
  expect(built, built.stderr).toMatchObject({ code: 0 });
  return out;
}

/** A command of ops as its image has it: no tools, no packages but its own, the Node that the folder brings. */
async function runOps(built: string, ...args: readonly string[]) {
  return run(join(built, 'bin/node'), ['src/main.ts', ...args], {
    cwd: join(built, 'app'),
    env: {
      PATH: '/usr/bin:/bin',
      DATABASE_URL: place.databaseUrl,
      AMQP_URL: place.amqpUrl,
      AMQP_MANAGEMENT_URL: place.amqpManagementUrl,
    },
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dueline-pruned-'));
  const urls = {
    databaseUrl: inject('postgresUrl'),
    amqpUrl: inject('amqpUrl'),
    amqpManagementUrl: inject('amqpManagementUrl'),
    redisUrl: inject('redisUrl'),
  };
  place = await createPlace(urls, `dueline_pruned_${randomBytes(4).toString('hex')}`);
});
afterAll(async () => {
  await place.remove();
  await rm(folder, { recursive: true, force: true });
});

test('ops migrates and declares the topology from its pruned folder', { timeout: 180_000 }, async () => {
  const built = await buildFolder('ops');

  expect(await runOps(built)).toMatchObject({ code: 0, stderr: expect.stringContaining('usage: dueline') });
  expect(await runOps(built, 'migrate')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('migrations applied'),
  });
  expect(await runOps(built, 'topology')).toMatchObject({ code: 0 });
});

test.for(APPS)(
  '%s starts and becomes ready from its pruned folder, with production dependencies alone',
  { timeout: 180_000 },
  async (name) => {
    const built = await buildFolder(name);
    expect(await readdir(join(built, 'node_modules'))).not.toContain('vitest');

    const app = await startApp(name, {
      ...place,
      appsFolder: join(built, 'apps'),
      lineApiUrl: 'http://127.0.0.1:9', // nothing is sent
      secretsKey: randomBytes(32).toString('base64'),
      logFolder: join(folder, 'logs'),
      asInProduction: true,
    });
    try {
      await untilReady(app, 90_000);
    } finally {
      await app.stop();
    }
    expect(app.child.exitCode, app.tail()).toBe(0);
  },
);
