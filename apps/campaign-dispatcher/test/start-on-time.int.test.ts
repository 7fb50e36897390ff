import { dueCampaign } from '@dueline/campaigns/testing';
import { type CampaignTicket, lineBroadcastRichMessage } from '@dueline/contracts';
import { columnOf, insertTenant, moveProductTime, testDb } from '@dueline/db/testing';
import { type Broker, connectBroker, DONE } from '@dueline/mq';
import { testVhost } from '@dueline/mq/testing';
import { createLog, createMetrics } from '@dueline/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { type OnTimeDeps, startOnTime } from '../src/start-on-time.ts';

const log = createLog({ service: 'test', level: 'fatal', instance: 'test' });

interface Arrival extends Pick<CampaignTicket, 'campaignId' | 'fence'> {
  readonly at: number;
}

/** A dispatcher that nobody ticks, and what it published. */
async function stage({ isDown = false }: { isDown?: boolean } = {}) {
  const database = await testDb();
  const vhost = await testVhost();
  const broker = connectBroker({ url: vhost.url, appId: 'test', log });
  const stops: (() => unknown)[] = [];
  onTestFinished(async () => {
    for (const stop of stops.reverse()) await stop();
    await broker.close();
    await vhost[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });
  await broker.ready();
  const arrivals: Arrival[] = [];
  const consumer = broker.consume(
    lineBroadcastRichMessage,
    async ({ data: { campaignId, fence } }) => {
      arrivals.push({ campaignId, fence, at: Date.now() });
      return DONE;
    },
    { concurrency: 4 },
  );
  stops.push(() => consumer.drain());
  let down = isDown;
  let tries = 0;
  const publish: Broker['publish'] = (queue, messages) => {
    tries += 1;
    if (down) return Promise.resolve(messages.map(() => ({ ok: false, reason: 'timeout' }) as const));
    return broker.publish(queue, messages);
  };
  const start = (name: string) => {
    const deps: OnTimeDeps = {
      db: database.db,
      broker: { state: () => broker.state(), publish },
      claimedBy: `${name}:boot`,
      onClaimed: () => undefined,
    };
    const worker = {
      log,
      metrics: createMetrics({ service: name }),
      onStop: (_: string, stop: () => unknown) => void stops.push(stop),
    };
    startOnTime(worker, { deps, listenUrl: database.url });
  };
  return {
    db: database.db,
    arrivals,
    start,
    tries: () => tries,
    repair: () => {
      down = false;
    },
  };
}

test('a campaign is on its queue within 100 ms of its start, once, though no tick comes and two dispatchers look', async () => {
  const { db, arrivals, start } = await stage();
  const tenant = await insertTenant(db);
  start('d-1');
  start('d-2');
  const startDates = [1_200, 1_900, 2_600].map((ms) => new Date(Date.now() + ms).toISOString());
  for (const startDate of startDates) await dueCampaign(db, tenant, { startDate });
  await expect.poll(() => arrivals, { timeout: 8_000 }).toHaveLength(3);
  const lateness = arrivals.map(({ at }, n) => at - Date.parse(startDates[n] ?? ''));
  expect(Math.min(...lateness)).toBeGreaterThanOrEqual(-1); // the database's clock and ours are one, in milliseconds
  expect(lateness.toSorted((a, b) => a - b)[1]).toBeLessThan(100); // of three the middle one: the machine of a test is not its own
  expect(await columnOf(db, 'select distinct status from campaign')).toEqual(['sending']);
});

test('a campaign that is due when it is written, or when time moved, does not wait for the look of the next second', async () => {
  const { db, arrivals, start } = await stage();
  const tenant = await insertTenant(db);
  start('d-1');
  await dueCampaign(db, tenant); // whatever it finds first
  await expect.poll(() => arrivals).toHaveLength(1);
  const began = Date.now();
  await dueCampaign(db, tenant);
  await expect.poll(() => arrivals, { interval: 5 }).toHaveLength(2);
  expect((arrivals[1]?.at ?? 0) - began).toBeLessThan(500);
  await dueCampaign(db, tenant, { startDate: new Date(Date.now() + 3_600_000).toISOString() });
  await moveProductTime(db, 3_600);
  await expect.poll(() => arrivals, { timeout: 5_000 }).toHaveLength(3);
});

test('a campaign that cannot be published is given back and tried again at growing intervals, until it is published once', {
  timeout: 30_000,
}, async () => {
  const { db, arrivals, start, tries, repair } = await stage({ isDown: true });
  await dueCampaign(db, await insertTenant(db));
  start('d-1');
  await expect.poll(tries, { timeout: 5_000 }).toBeGreaterThan(5);
  const before = tries();
  await new Promise((resolve) => setTimeout(resolve, 1_000)); // what is measured is how often it tries in this time
  expect(tries() - before).toBeLessThan(25); // at no interval it were hundreds; looks behind the hint are some of these
  repair();
  await expect.poll(() => arrivals, { timeout: 15_000 }).toHaveLength(1);
});
