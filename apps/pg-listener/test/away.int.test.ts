import { attributeChanged } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { outboxLag, takeEvents } from '@dueline/db/changes';
import { columnOf, insertTenant, insertUsers, moveProductTime, testDb } from '@dueline/db/testing';
import { connectBroker, DONE } from '@dueline/mq';
import { testVhost } from '@dueline/mq/testing';
import { expect, onTestFinished, test } from 'vitest';
import { announceOutboxEvents } from '../src/announce-events.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
/** So many that their events are marked as bulk, which changes nothing about the order. */
const PEOPLE = 1_001;
const CROWDS = 3;
/** And one person between two crowds. */
const EVENTS = PEOPLE * CROWDS + 1;
const CAP = 250;

async function connect() {
  const vhost = await testVhost();
  const broker = connectBroker({ url: vhost.url, appId: 'test', log });
  onTestFinished(async () => {
    await broker.close();
    await vhost[Symbol.asyncDispose]();
  });
  await broker.ready();
  return broker;
}

const announced = async (db: Db) =>
  Number((await columnOf(db, `select count(*) from event_outbox where status = 'published'`))[0]);

test('what was written while no listener ran for an hour is announced by the next one, oldest first and never more than the cap at a time, and decided once [SEM-092]', async () => {
  await using own = await testDb();
  const { db } = own;
  const tenant = await insertTenant(db);
  await insertUsers(db, tenant, PEOPLE);
  for (let value = 0; value < CROWDS; value += 1) {
    await db.$client.query(`update line_user set attributes = jsonb_build_object('n', $1::int)`, [value]);
    if (value === 0)
      await db.$client.query(`update line_user set attributes = '{"alone": true}' where user_id like '%07f'`);
  }
  await moveProductTime(db, 3_600);
  const before = await outboxLag(db);
  expect(before.rows).toBe(EVENTS);
  expect(before.oldestSeconds).toBeGreaterThanOrEqual(3_600);

  const broker = await connect();
  const decided: string[] = [];
  broker.consume(
    attributeChanged,
    async (message) => {
      const events = await inTransaction(db, (tx) =>
        takeEvents(
          tx,
          message.data.tickets.map((ticket) => ({ ...ticket, ...message.tenant })),
        ),
      );
      decided.push(...events.map(({ id }) => id));
      return DONE;
    },
    { concurrency: 1 },
  );
  await broker.ready();
  const limits = { limit: 100, leaseSeconds: 300, maxPublished: CAP };
  const announce = announceOutboxEvents({ db, broker, limits, onPublished: () => undefined });
  let most = 0;
  await expect
    .poll(
      async () => {
        while (await announce()) most = Math.max(most, await announced(db));
        return decided.length;
      },
      { timeout: 60_000, interval: 5 },
    )
    .toBe(EVENTS);

  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(CAP);
  expect(new Set(decided).size).toBe(EVENTS);
  expect(decided).toEqual(decided.toSorted((left, right) => Number(left) - Number(right)));
  expect(await outboxLag(db)).toEqual({ rows: 0, oldestSeconds: 0 });
}, 90_000);
