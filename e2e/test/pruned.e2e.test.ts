import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT, run } from './support.ts';

const APPS = [
  'pg-listener',
  'trigger-worker',
  'cron-scheduler',
  'campaign-dispatcher',
  'line-delivery',
  'ops',
] as const;
const bin = (name: string) => join(ROOT, 'node_modules/.bin', name);

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dueline-pruned-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What the image of an app holds: its part of the workspace with production dependencies only, and Node from outside. */
async function prune(app: string): Promise<string> {
  const out = join(folder, app);
  const pruned = await run(bin('turbo'), ['prune', `@dueline/${app}`, '--docker', '--out-dir', out]);
  expect(pruned, pruned.stderr).toMatchObject({ code: 0 });
  await cp(join(out, 'pnpm-lock.yaml'), join(out, 'full/pnpm-lock.yaml'));
  const args = ['install', '--prod', '--frozen-lockfile', '--no-optional', '--config.trustLockfile=true'];
  const installed = await run(bin('pnpm'), args, { cwd: join(out, 'full') });
  expect(installed, installed.stderr).toMatchObject({ code: 0 });
  return join(out, 'full');
}

test.for(APPS)(
  '%s starts from its pruned folder with production dependencies alone',
  { timeout: 120_000 },
  async (app) => {
    const full = await prune(app);

    const bare = { PATH: '/usr/bin:/bin' };
    const started = await run(process.execPath, ['src/main.ts'], { cwd: join(full, 'apps', app), env: bare });

    expect(await readdir(join(full, 'node_modules'))).not.toContain('vitest');
    if (app === 'ops')
      return expect(started).toMatchObject({ code: 0, stderr: expect.stringContaining('usage: dueline') });
    expect(started).toMatchObject({ code: 1, stderr: expect.stringContaining('DATABASE_URL: is missing') });
  },
);
