import type { App, AppName } from '@dueline/demo';
import type { CrashPoint } from '@dueline/runtime';
import { CLEAN } from '@dueline/stress';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Stage, startStage, untilReached } from './kill/stage.ts';

/** How long production leaves a row to its owner, in seconds: an event or action, and a message on its way. */
const LEASES = { claim: 300, send: 75 };
/** The longest lease, with what follows it. */
const PATIENCE_MS = 420_000;

let stage: Stage;
beforeAll(async () => {
  stage = await startStage({ asInProduction: true });
});
afterAll(() => stage?.stack.stop());

const instanceOf = (app: AppName) => `doomed-${app}`;

/** Replaces an app by one that dies with rows in its hand. Whoever follows it has another name: only their leases free these. */
async function doom(app: AppName, point: CrashPoint): Promise<App> {
  await stage.stack.apps.get(app)?.stop();
  return stage.stack.restart(app, { INSTANCE_NAME: instanceOf(app), DUELINE_ENV: 'test', CRASH_AT: point });
}

async function died(app: App, point: CrashPoint): Promise<void> {
  await untilReached(app, { point, instance: instanceOf(app.name as AppName) });
  await app.gone;
  expect(app.child.signalCode).toBe('SIGKILL');
}

async function kill(name: AppName): Promise<void> {
  const app = stage.stack.apps.get(name);
  app?.child.kill('SIGKILL');
  await app?.gone;
  expect(app?.child.signalCode).toBe('SIGKILL');
}

/** How many rows have a lease that ends within these seconds, though not within the last minute of them. */
async function countHeld(rows: string, leaseSeconds: number): Promise<number> {
  const result = await stage.stack.database.db.$client.query(
    `select from ${rows} and lease_until - clock_timestamp() between make_interval(secs => $1) and make_interval(secs => $2)`,
    [leaseSeconds - 60, leaseSeconds],
  );
  return result.rowCount ?? 0;
}

async function countOpen(): Promise<number> {
  const { rows } = await stage.stack.database.db.$client.query(`
    select (select count(*) from event_outbox) + (select count(*) from scheduled_action where status <> 'done')
         + (select count(*) from delivery where status <> 'accepted') as open`);
  return Number(rows[0].open);
}

test('with the leases of production, every app killed in the middle of a batch, those that held rows replaced: what they held is done when the leases are over, each once', {
  timeout: PATIENCE_MS + 90_000,
}, async () => {
  const scheduler = await doom('cron-scheduler', 'announce_action.claimed');
  const sender = await doom('line-delivery', 'send.started');
  const planned = await stage.wave(500);
  await died(sender, 'send.started');
  await kill('trigger-worker');
  await kill('campaign-dispatcher');
  await died(scheduler, 'announce_action.claimed');
  const listener = await doom('pg-listener', 'announce_event.claimed');
  planned.push(...(await stage.wave(100)));
  await died(listener, 'announce_event.claimed');

  expect(await countHeld("event_outbox where status = 'published'", LEASES.claim)).toBeGreaterThanOrEqual(100);
  expect(await countHeld("scheduled_action where status = 'processing'", LEASES.claim)).toBeGreaterThan(0);
  expect(await countHeld("delivery where status = 'sending'", LEASES.send)).toBeGreaterThan(0);
  await Promise.all([...stage.stack.apps.keys()].map((name) => stage.stack.restart(name)));

  await expect.poll(countOpen, { timeout: PATIENCE_MS, interval: 2_000 }).toBe(0);
  expect(await stage.outcome(planned)).toEqual(CLEAN);
});
