import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QUEUES } from '@dueline/contracts';
import { migrate } from '@dueline/db';
import type { AppName } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { declareTopology, type Log } from '@dueline/mq';
import { CLEAN, type History, judgeHistory, type Planned } from '@dueline/stress';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { changeSome, startLoad } from './upgrade/load.ts';
import { unreadable } from './upgrade/read-messages.ts';
import { hasCommit, readRelease, readSamples } from './upgrade/release.ts';
import { type Stage, startStage } from './upgrade/stage.ts';
import * as story from './upgrade/story.ts';
import { openTap, type Tap } from './upgrade/tap.ts';
import { until, untilRows } from './upgrade/until.ts';

const release = readRelease();
/** Of the mixed states, in which every message goes from one age to the other. */
const OLD_CONSUMERS: readonly AppName[] = ['trigger-worker', 'campaign-dispatcher'];
const OLD_PRODUCERS: readonly AppName[] = ['pg-listener', 'cron-scheduler', 'line-delivery'];

const quiet: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

let stage: Stage;
let cast: story.Cast;
let tap: Tap;
const planned: Planned[] = Object.entries(release.open).flatMap(([lid, users]) => story.plannedFor(users, [lid]));

const planFurther = (messages: readonly Planned[]) => {
  planned.push(...messages);
  return messages;
};

async function untilReceived(messages: readonly Planned[]): Promise<void> {
  await until(`LINE has ${messages.length} messages`, async () => {
    const received = new Set((await stage.line.receiptsSince(0)).map(({ user, lid }) => `${user} ${lid}`));
    return messages.every(({ user, lid }) => received.has(`${user} ${lid}`));
  });
}

/** Some people change and others do something: what is due at once must arrive through whoever runs now. */
async function passes(): Promise<void> {
  const messages = planFurther(await changeSome(stage.database.db, cast, 5, 2));
  await untilReceived(messages.filter(({ lid }) => lid !== 'quarter' && lid !== 'hour'));
}

async function judge(): Promise<History> {
  return judgeHistory(stage, { planned, receipts: await stage.line.receiptsSince(0) });
}

/** What the next migrations may add: a column to every table. Old processes must not mind, however they have prepared their statements. */
async function migrateAsTomorrow(): Promise<void> {
  const { $client } = stage.database.db;
  const { rows } = await $client.query<{ name: string }>(
    "select oid::regclass::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition",
  );
  for (const { name } of rows)
    await until(`${name} has another column`, async () => {
      const add = `set local lock_timeout = '2s'; alter table ${name} add column if not exists of_tomorrow text default 'unknown'`;
      return $client.query(add).then(
        () => true,
        (error: { code?: string }) => {
          if (error.code === '55P03' || error.code === '40P01') return false;
          throw error;
        },
      );
    });
}

test.for(readSamples())('a message on $queue from the release is read today', (sample) => {
  expect(unreadable([sample])).toEqual([]);
});

describe.skipIf(!hasCommit(release.commit))(`from ${release.version}, commit ${release.commit.slice(0, 7)}`, () => {
  beforeAll(async () => {
    stage = await startStage(release);
    cast = await story.readCast(stage.database.db, release.used);
    await stage.oldOps('topology');
    tap = await openTap(stage.place);
    await stage.start('old');
  }, 300_000); // an install and six starts
  afterAll(() => stage?.end());

  test('the schema is migrated beneath running processes of the release, and no writer feels it', async () => {
    const { db } = stage.database;
    const load = startLoad(db, cast, planned);
    await passes();
    await migrate({ url: stage.place.databaseUrl });
    const { amqpUrl: url, amqpManagementUrl: managementUrl } = stage.place;
    await declareTopology({ url, managementUrl, queues: QUEUES, log: quiet });
    await migrateAsTomorrow();
    await passes();
    await load.stop();
  });

  test('processes of both ages work side by side, on work of either age, and one of the old dies', async () => {
    const { db } = stage.database;
    const load = startLoad(db, cast, planned);
    await stage.start('new');
    await passes();
    await stage.kill('old', 'line-delivery');
    const clicked = release.waiting.slice(0, release.waiting.length / 2);
    await story.click(db, cast.tenantOf('rules'), clicked);
    planFurther(story.plannedFor(clicked, ['reward']));
    planFurther(story.plannedFor(release.waiting.slice(clicked.length), ['last-call']));
    await stage.inOld('broadcast', story.CHANNELS.late.channelId, 'by-old');
    const byOld = story.plannedForAll('late', 'by-old');
    const byNew = await story.campaign(db, cast, { part: 'early', lid: 'by-new', inSeconds: 0 });
    await untilReceived(planFurther([...byOld, ...byNew]));
    await load.stop();
    await stage.travel(15 * 60); // 09:31: a cycle, and a chunk of the paced campaign
    await untilReceived([...story.plannedMorning('half'), ...story.plannedFor(clicked, ['reward'])]);
  });

  test('what new processes say is understood by old ones, and the other way round', async () => {
    await stage.stop('old', ['pg-listener', 'cron-scheduler']);
    await stage.stop('new', OLD_CONSUMERS);
    await passes();
    await stage.travel(10 * 60); // 09:41: the campaign that the release scheduled
    await passes();
  });

  test('new processes finish what the release began', async () => {
    await stage.start('new', OLD_CONSUMERS);
    await stage.stop('old', OLD_CONSUMERS);
    await tap.take();
    await passes();
    await stage.travel(30 * 60); // 10:11: what was to wait for an hour, and the last chunk
    await passes();
    await untilReceived(planned.filter(({ lid }) => lid === 'paced' || lid === 'scheduled' || lid === 'last-call'));
  });

  test('the release reads what new processes wrote', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dueline-messages-'));
    const samples = await tap.take();
    try {
      await writeFile(join(folder, 'messages.json'), JSON.stringify(samples));
      expect(samples.length).toBeGreaterThan(5);
      expect(JSON.parse(await stage.inOld('read', join(folder, 'messages.json')))).toEqual([]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('rolled back, old processes start on the migrated schema and go on', async () => {
    await stage.start('old', OLD_PRODUCERS);
    await stage.stop('new', OLD_PRODUCERS);
    await passes();
    await stage.travel(3_601);
  });

  test('in the end nobody is lost, nobody got anything twice, and everything is explained', async () => {
    const { rows } = await stage.database.db.$client.query<{ what: string }>(
      `select 'delivery ' || id || ' is unknown' as what from delivery where status = 'unknown'`,
    );
    expect(rows).toHaveLength(Object.values(release.unknown).flat().length);
    const expected = { ...CLEAN, stuck: rows.map(({ what }) => what) };
    await until('every row is at its end', async () => (await judge()).stuck.length === rows.length).catch(
      () => undefined,
    );
    await sleep(1_500); // in which a duplicate would show
    expect(await judge()).toEqual(expected);
    expect(stage.ended()).toEqual([]);
    for (const age of ['old', 'new'])
      await untilRows(stage.database.db, `select from delivery_attempt where claimed_by like '%/${age}-%'`);
  });

  test('the judgement would notice a message that comes twice, and one that is missing', async () => {
    const someone = planned.find(({ lid }) => lid === 'now');
    if (someone === undefined) throw new Error('nothing was planned');
    const text = `once more [[lid:${someone.lid}]]`;
    await stage.line.pushAround(story.CHANNELS.rules.channelAccessToken, {
      to: someone.user,
      messages: [{ type: 'text', text }],
    });
    planned.push({ user: someone.user, lid: 'never sent' });
    const { doubled, lost } = await judge();
    expect([doubled.length, lost.length]).toEqual([1, 1]);
  });
});
