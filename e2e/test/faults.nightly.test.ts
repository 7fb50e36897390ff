import { APP_NAMES, type AppName, countConnections, cutConnections, purgeQueues } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import type { CrashPoint } from '@dueline/runtime';
import { CLEAN } from '@dueline/stress';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LEASE_MS, type Stage, startStage, untilReached } from './kill/stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage?.stack.stop());

/** Ends apps, in order or by SIGKILL, and says with which code or signal each ended. */
const end = (names: readonly AppName[], how: 'stop' | 'kill' = 'stop') =>
  Promise.all(
    names.map(async (name) => {
      const app = stage.stack.apps.get(name);
      if (how === 'kill') app?.child.kill('SIGKILL');
      else await app?.stop();
      await app?.gone;
      return app?.child.signalCode ?? app?.child.exitCode;
    }),
  );

const FREEZES: readonly (readonly [AppName, CrashPoint])[] = [
  ['pg-listener', 'announce_event.claimed'],
  ['trigger-worker', 'decide_event.deciding'],
  ['trigger-worker', 'decide_event.committed'],
  ['trigger-worker', 'fire_action.deciding'],
  ['cron-scheduler', 'announce_action.claimed'],
  ['line-delivery', 'send.started'],
  ['line-delivery', 'send.answered'],
];

test.for(FREEZES)(
  '%s frozen at %s for longer than its lease, replaced, and back: each message arrives once',
  async ([app, point]) => {
    const instance = `frozen-${point}`;
    await stage.stack.apps.get(app)?.stop();
    const frozen = await stage.stack.restart(app, { INSTANCE_NAME: instance, CRASH_AT: `${point}=stop` });

    const planned = await stage.wave();
    await untilReached(frozen, { point, instance });
    await stage.stack.restart(app, { INSTANCE_NAME: `${instance}-2` });
    await sleep(LEASE_MS + 1_000); // the lease must be over before it goes on
    frozen.child.kill('SIGCONT');

    expect(await stage.outcome(planned)).toEqual(CLEAN);
    await frozen.stop();
    expect(frozen.child.exitCode).toBe(0);
    expect(await stage.outcome(planned)).toEqual(CLEAN);
  },
);

test('every app told to stop in the middle of a batch ends in order, and nothing is lost, doubled or stuck', async () => {
  const planned = await stage.wave(500);
  await stage.received(planned, 50);

  expect(await end(APP_NAMES)).toEqual(APP_NAMES.map(() => 0));
  await Promise.all(APP_NAMES.map((name) => stage.stack.restart(name)));

  expect(await stage.outcome(planned)).toEqual(CLEAN);
});

test('every app killed in the middle of a batch and restarted: nothing is lost, doubled or stuck', async () => {
  const planned = await stage.wave(500);
  await stage.received(planned, 50);

  expect(await end(APP_NAMES, 'kill')).toEqual(APP_NAMES.map(() => 'SIGKILL'));
  await Promise.all(APP_NAMES.map((name) => stage.stack.restart(name)));

  expect(await stage.outcome(planned)).toEqual(CLEAN);
});

test('RabbitMQ cuts every connection in the middle of a batch: nothing is lost, doubled or stuck', async () => {
  const all = 2 * APP_NAMES.length; // each app has one to publish and one to consume
  await expect.poll(() => countConnections(stage.stack), { timeout: 10_000 }).toBeGreaterThanOrEqual(all);
  const planned = await stage.wave(500);
  await stage.received(planned, 50);

  await cutConnections(stage.stack);

  expect(await stage.outcome(planned)).toEqual(CLEAN);
});

test('RabbitMQ loses every message: nothing is lost, doubled or stuck', async () => {
  await end(['trigger-worker', 'line-delivery']);
  const planned = await stage.wave();
  const published = "select from event_outbox where status = 'published'";
  await expect
    .poll(async () => (await stage.stack.database.db.$client.query(published)).rowCount, { timeout: 5_000 })
    .toBe(30);
  await sleep(100); // so that the tickets are there to be lost
  await purgeQueues(stage.stack);
  await stage.stack.restart('trigger-worker');
  const sends = 'select from delivery where status = $1';
  const { $client } = stage.stack.database.db;
  await expect.poll(async () => (await $client.query(sends, ['planned'])).rowCount, { timeout: 10_000 }).toBe(60);
  await purgeQueues(stage.stack);
  await stage.stack.restart('line-delivery');

  expect(await stage.outcome(planned)).toEqual(CLEAN);
});

test('PostgreSQL ends every session of the apps, again and again: nothing is lost, doubled or stuck [SEM-043]', async () => {
  const planned = await stage.wave(500);
  const ends =
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = any($1) and datname = current_database()';
  for (let time = 0; time < 5; time += 1) {
    const { rowCount } = await stage.stack.database.db.$client.query(ends, [APP_NAMES]);
    expect(rowCount).toBeGreaterThan(0);
    await sleep(200);
  }

  expect(await stage.outcome(planned)).toEqual(CLEAN);
});

test('over everything that was written here: nothing is lost, doubled or stuck', async () => {
  expect(await stage.outcomeOfAll()).toEqual(CLEAN);
});
