import { migrate } from '@dueline/db';
import { APP_NAMES } from '@dueline/demo';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hasCommit, readRelease } from './upgrade/release.ts';
import { type Scene, startScene } from './upgrade/scene.ts';
import { until } from './upgrade/until.ts';

const release = readRelease();
let scene: Scene;

describe.skipIf(!hasCommit(release.commit))(`from ${release.version}, commit ${release.commit.slice(0, 7)}`, () => {
  beforeEach(async () => {
    scene = await startScene(release);
    await scene.stage.start('old');
  }, 300_000);
  afterEach(() => scene?.stage.end());

  test('old and new side by side, every process of either age dies once, and nobody is lost or served twice', async () => {
    const { stage } = scene;
    const load = scene.load();
    await migrate({ url: stage.place.databaseUrl });
    await stage.start('new');
    for (const name of APP_NAMES) {
      await stage.kill('old', name);
      await scene.passes();
      await stage.kill('new', name);
      await stage.start('old', [name]);
      await scene.passes();
      await stage.start('new', [name]);
    }
    await load.stop();
    await stage.stop('old');
    await stage.travel(15 * 60);
    await stage.travel(40 * 60);
    await stage.travel(3_601);
    scene.plan(release.waiting.map((user) => ({ user, lid: 'last-call' })));
    const { found, expected } = await scene.outcome();
    expect(found).toEqual(expected);
    expect(stage.ended()).toEqual([]);
  });

  test('a migration that takes away what the release writes would be noticed', async () => {
    const { stage } = scene;
    await scene.passes();
    await stage.database.db.$client.query('alter table delivery rename column body to content');
    const waiting = scene.passes().catch(() => 'in vain');
    await until('a process of the release fails for the column', async () => stage.logs('old').includes('42703'));
    await stage.end();
    expect(await waiting).toBe('in vain');
  });
});
