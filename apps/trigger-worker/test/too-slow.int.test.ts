import { openDatabase } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { processEvents } from '../src/process-events.ts';
import { claimAll, dueActions, fire } from './due.ts';
import { count, createCityRule, createTenant, decideDeps, setAttributes, userId } from './support.ts';

const PEOPLE = 500;
const SLOW = 300;
/** Long enough for whatever is not slow, however busy the machine. */
const TIMEOUT_MS = 2_000;
/** The whole, and parts of 63, 8 and 1. */
const LEVELS = 4;

/** Due actions, or events, of which one takes too long by itself; as a worker sees it whose statements may take so long. */
async function slowWorld() {
  const own = await testDb();
  const { db } = own;
  const tenant = await createTenant(db, PEOPLE);
  await db.$client.query(`
    create sequence slept;
    create function dawdle() returns trigger language plpgsql security definer as $$
    begin perform nextval('slept'); perform pg_sleep(3600); return new; end $$;
    create trigger dawdle before insert on delivery for each row when (new.user_id = '${userId(SLOW)}') execute function dawdle()`);
  const worker = openDatabase({
    ...{ url: own.url, applicationName: 'test', maxConnections: 8, readsByIndex: true, statementTimeoutMs: TIMEOUT_MS },
    onError: () => undefined, // none is expected, and the next statement would tell
  });
  return {
    ...{ db, tenant, deps: decideDeps(worker.db) },
    timesSlept: async () => Number((await columnOf(db, 'select last_value from slept'))[0]),
    [Symbol.asyncDispose]: async () => {
      await worker.close();
      await own[Symbol.asyncDispose]();
    },
  };
}

test('of 500 due actions of which one takes too long, that one has lost a try after four statements, the others are decided', {
  timeout: 120_000,
}, async () => {
  await using world = await slowWorld();
  const { db, tenant, deps } = world;
  await dueActions(db, tenant, { count: PEOPLE });

  await fire(deps, await claimAll(db));

  expect(await count(db, 'scheduled_action', `status = 'done'`)).toBe(PEOPLE - 1);
  expect(
    await count(db, 'scheduled_action', `user_id = '${userId(SLOW)}' and retry_count = 1 and status = 'pending'`),
  ).toBe(1);
  expect(await world.timesSlept()).toBe(LEVELS);
});

test('so it is with 200 events that are taken straight from the outbox, after one statement more', {
  timeout: 120_000,
}, async () => {
  await using world = await slowWorld();
  const { db, tenant, deps } = world;
  await createCityRule(db, tenant);
  const people = Array.from({ length: 200 }, (_, n) => SLOW - 100 + n);
  await setAttributes(db, tenant, { city: 'Edo' }, people);

  expect(await processEvents(deps)()).toBe(true);

  expect(await count(db, 'delivery')).toBe(people.length - 1);
  expect(await count(db, 'event_outbox', `user_id = '${userId(SLOW)}' and attempts = 1`)).toBe(1);
  expect(await count(db, 'event_outbox')).toBe(1);
  expect(await world.timesSlept()).toBe(LEVELS + 1);
});
