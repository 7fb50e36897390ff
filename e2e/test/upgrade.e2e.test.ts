import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QUEUES } from '@dueline/contracts';
import { migrate } from '@dueline/db';
import type { AppName } from '@dueline/demo';
import { declareTopology, type Log } from '@dueline/mq';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrateAsTomorrow } from './upgrade/migrate-as-tomorrow.ts';
import { unreadable } from './upgrade/read-messages.ts';
import { hasCommit, readRelease, readSamples } from './upgrade/release.ts';
import { type Scene, startScene } from './upgrade/scene.ts';
import * as story from './upgrade/story.ts';
import { openTap, type Tap } from './upgrade/tap.ts';
import { untilRows } from './upgrade/until.ts';

const release = readRelease();
/** Two halves, such that every message goes from an app of one to an app of the other. */
const CONSUMERS: readonly AppName[] = ['trigger-worker', 'campaign-dispatcher'];
const OTHERS: readonly AppName[] = ['pg-listener', 'cron-scheduler', 'line-delivery'];
const quiet: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

let scene: Scene;
let tap: Tap;

test.for(readSamples())('a message on $queue from the release is read today', (sample) => {
  expect(unreadable([sample])).toEqual([]);
});

describe.skipIf(!hasCommit(release.commit))(`from ${release.version}, commit ${release.commit.slice(0, 7)}`, () => {
  beforeAll(async () => {
    scene = await startScene(release);
    tap = await openTap(scene.stage.place);
    await scene.stage.start('old');
  }, 300_000); // an install and six starts
  afterAll(() => scene?.stage.end());

  test('the schema is migrated beneath running processes of the release, and no writer feels it', async () => {
    const { database, place } = scene.stage;
    const load = scene.load();
    await scene.passes();
    await migrate({ url: place.databaseUrl });
    const { amqpUrl: url, amqpManagementUrl: managementUrl } = place;
    await declareTopology({ url, managementUrl, queues: QUEUES, log: quiet });
    await migrateAsTomorrow(database.db);
    await scene.passes();
    await load.stop();
  });

  test('processes of both ages work side by side, on work of either age, and one of the old dies', async () => {
    const { stage, cast } = scene;
    const { db } = stage.database;
    const load = scene.load();
    await stage.start('new');
    await scene.passes();
    await stage.kill('old', 'line-delivery');
    const clicked = release.waiting.slice(0, release.waiting.length / 2);
    await story.click(db, cast.tenantOf('rules'), clicked);
    scene.plan(story.plannedFor(release.waiting.slice(clicked.length), ['last-call']));
    await stage.inOld('broadcast', story.CHANNELS.late.channelId, 'by-old');
    const byOld = story.plannedForAll('late', 'by-old');
    const byNew = await story.campaign(db, cast, { part: 'early', lid: 'by-new', inSeconds: 0 });
    await scene.untilReceived(scene.plan([...byOld, ...byNew, ...story.plannedFor(clicked, ['reward'])]));
    await load.stop();
    await stage.travel(15 * 60); // 09:31: a cycle, and a chunk of the paced campaign
    await scene.untilReceived(story.plannedMorning('half'));
  });

  test('what new processes say is understood by old ones, and the other way round', async () => {
    const { stage } = scene;
    await stage.stop('old', ['pg-listener', 'cron-scheduler']);
    await stage.stop('new', CONSUMERS);
    await scene.passes();
    await stage.travel(10 * 60); // 09:41: the campaign that the release scheduled
    await scene.passes();
  });

  test('new processes finish what the release began', async () => {
    const { stage } = scene;
    await stage.start('new', CONSUMERS);
    await stage.stop('old', CONSUMERS);
    await tap.take();
    await scene.passes();
    await stage.travel(30 * 60); // 10:11: what was to wait for an hour, and the last chunk
    await scene.passes();
    await scene.untilReceived(scene.planned.filter(({ lid }) => ['paced', 'scheduled', 'last-call'].includes(lid)));
  });

  test('the release reads what new processes wrote', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dueline-messages-'));
    const samples = await tap.take();
    try {
      await writeFile(join(folder, 'messages.json'), JSON.stringify(samples));
      expect(samples.length).toBeGreaterThan(5);
      expect(JSON.parse(await scene.stage.inOld('read', join(folder, 'messages.json')))).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('rolled back, old processes start on the migrated schema and go on', async () => {
    const { stage } = scene;
    await stage.start('old', OTHERS);
    await stage.stop('new', OTHERS);
    await scene.passes();
    await stage.travel(3_601);
  });

  test('in the end nobody is lost, nobody got anything twice, and everything is explained', async () => {
    const { stage } = scene;
    const { found, expected } = await scene.outcome();
    expect(found).toEqual(expected);
    expect(stage.ended()).toEqual([]);
    for (const age of ['old', 'new'])
      await untilRows(stage.database.db, `select from delivery_attempt where claimed_by like '%/${age}-%'`);
  });

  test('the judgement would notice a message that comes twice, and one that is missing', async () => {
    const { stage, planned } = scene;
    const someone = planned.find(({ lid }) => lid === 'now');
    if (someone === undefined) throw new Error('nothing was planned');
    const text = `once more [[lid:${someone.lid}]]`;
    await stage.line.pushAround(story.CHANNELS.rules.channelAccessToken, {
      to: someone.user,
      messages: [{ type: 'text', text }],
    });
    scene.plan([{ user: someone.user, lid: 'never sent' }]);
    const { doubled, lost } = await scene.judge();
    expect([doubled.length, lost.length]).toEqual([1, 1]);
  });
});
