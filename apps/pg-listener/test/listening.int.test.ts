import { testDb } from '@dueline/db/testing';
import { createLog, createMetrics } from '@dueline/runtime';
import { wakeOnNotify } from '@dueline/worker-app';
import { expect, onTestFinished, test } from 'vitest';

const CHANNEL = 'event_outbox';

test('LISTEN that is lost and found again and again is a line of the log for each change, a look for each return, and shown', async () => {
  await using own = await testDb();
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line).msg) };
  const log = createLog({ service: 'test', level: 'info', instance: 'test', destination });
  const metrics = createMetrics({ service: 'test' });
  let looks = 0;
  const steps: (() => unknown)[] = [];
  wakeOnNotify(
    { log, metrics, onStop: (_name, stop) => void steps.push(stop) },
    { url: own.url, wakes: { [CHANNEL]: () => (looks += 1) } },
  );
  onTestFinished(async () => {
    for (const stop of steps) await stop();
  });
  const isShown = async (connected: number) =>
    expect
      .poll(async () => (await metrics.text()).includes(`dueline_listener_connected{service="test"} ${connected}`), {
        timeout: 20_000,
      })
      .toBe(true);
  await isShown(1);
  expect(lines).toEqual([]);

  for (let outage = 1; outage <= 3; outage += 1) {
    await own.db.$client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()',
      [`listen ${CHANNEL}`],
    );
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBe(2 * outage);
    await isShown(1);
    expect(looks).toBe(1 + outage);
  }
  expect(new Set(lines)).toEqual(new Set(['LISTEN was lost; polling until it is back', 'LISTEN is back']));
});
