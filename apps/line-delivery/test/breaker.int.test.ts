import { setTimeout as sleep } from 'node:timers/promises';
import { BREAKER_LIMITS } from '@dueline/accounts';
import { columnOf, lockWaiters, testDb } from '@dueline/db/testing';
import { announceDeliveries } from '@dueline/deliveries';
import { nthUserId } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { planCampaign, planPushes, replicaOf, type Stage, stageOf } from './guarded-stage.ts';

const PUSH = '/v2/bot/message/push';
const VALIDATE = '/v2/bot/message/validate/push';
const breaker = async ({ db }: Stage) =>
  (await columnOf(db, 'select breaker_until is not null from account_trouble'))[0] ?? 'none';
const spurious = (endpoint: string, max: number) => ({
  rules: [{ id: 'f', match: { endpoint }, max, effect: { type: 'status', status: 400 } as const }],
});

test('an outage that refuses twenty sends opens the breaker for all replicas, fails nobody, and all go out after it [T21]', {
  timeout: 30_000,
}, async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const [one, two] = [replicaOf(stage), replicaOf(stage)];
  const tickets = await planPushes(stage, 40);
  stage.simulator.faults.set(spurious('push', 20));

  await one.send(tickets.slice(0, 20));
  expect([await stage.states(), await breaker(stage)]).toEqual([['planned 40'], 'true']);
  await two.send(tickets.slice(20));
  await stage.pass(200);
  await Promise.all([one.round(), two.round()]);
  expect(stage.requests(PUSH)).toHaveLength(20);

  await stage.pass(101);
  await Promise.all([one.round(), two.round()]);
  expect(stage.requests(PUSH)).toHaveLength(21); // one to see, and LINE is well
  expect(await breaker(stage)).toBe('false');
  await stage.pass(60);
  await expect // the other replica may believe for a second that it is open
    .poll(
      async () => {
        await Promise.all([one.round(), two.round()]);
        return stage.states();
      },
      { timeout: 20_000 },
    )
    .toEqual(['accepted 40']);

  expect([...stage.simulator.ledger.receipts()]).toHaveLength(40);
  expect([...stage.simulator.ledger.violations()]).toEqual([]);
});

test('while LINE goes on refusing, one delivery in each five minutes is sent to see, and nobody is failed', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await planPushes(stage, 10);
  stage.simulator.faults.set(spurious('push', 1_000));
  await replica.round();
  for (let turn = 0; turn < 4; turn += 1) {
    await stage.pass(301);
    await replica.round();
    await replica.round();
  }
  expect([await stage.states(), stage.requests(PUSH).length]).toEqual([['planned 10'], 14]);
});

test('a message whose tickets are nearly all stale by now still has the one sent to see whether LINE is well', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  const tickets = await planPushes(stage, 40);
  stage.simulator.faults.set(spurious('push', 20));
  await replica.send(tickets.slice(0, 20));
  await stage.pass(301);
  const [good, ...others] = tickets.slice(20);
  if (good === undefined) throw new Error('nothing is planned');
  const stale = others.map((ticket) => ({ ...ticket, fence: '999' }));
  await replica.send(stale); // nothing of these could be sent: the turn is not spent
  expect(await breaker(stage)).toBe('true');
  await replica.send([...stale, good]);
  expect([await breaker(stage), (await stage.states())[0]]).toEqual(['false', 'accepted 1']);
});

test('chunks of a campaign that are refused by an outage are sent whole, each under its own key', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await planCampaign(stage, 1_250);
  stage.simulator.faults.set(spurious('multicast', 3));
  await replica.round();
  expect(await stage.states()).toEqual(['planned 3']);
  await stage.pass(70);
  await replica.round();
  expect(await stage.states()).toEqual(['accepted 3']);
  expect([...stage.simulator.ledger.receipts()]).toHaveLength(1_250);
  expect([...stage.simulator.ledger.violations()]).toEqual([]);
});

test('a push that names its recipient as the reason is refused at once, and many of them stop nobody else', async () => {
  await using database = await testDb();
  const users = [{ prefix: 'e', count: 5 }];
  const stage = await stageOf(database.db, { users });
  const replica = replicaOf(stage);
  await planPushes(stage, 15); // ten of them are nobody that this account knows
  await replica.round();
  expect([await stage.states(), await breaker(stage)]).toEqual([['accepted 5', 'refused 10'], 'none']);
  expect([...stage.simulator.ledger.receipts()].map(({ user }) => user).sort()).toEqual(
    [0, 1, 2, 3, 4].map((n) => nthUserId('e', n)).sort(),
  );
});

test('content that LINE would refuse to anybody is refused at once, and asked about once', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await planPushes(stage, 1);
  stage.simulator.faults.set({
    rules: ['push', 'validate/push'].map((endpoint) => ({
      ...{ id: endpoint.replace('/', '-'), match: { endpoint } },
      effect: {
        type: 'status',
        status: 400,
        message: 'A message (messages[0]) in the request body is invalid',
      } as const,
    })),
  });
  await replica.round();
  expect([await stage.states(), stage.requests(VALIDATE).length]).toEqual([['refused 1'], 1]);
});

test('content that LINE refuses without a reason, three times and while it takes other content, is refused', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await planPushes(stage, 1);
  stage.simulator.faults.set({
    rules: ['push', 'validate/push'].map((endpoint) => ({
      ...{ id: endpoint.replace('/', '-'), match: { endpoint, bodyContains: '[[lid:a0]]' } },
      effect: { type: 'status', status: 400 } as const,
    })),
  });
  for (const minutes of [1, 2]) {
    await replica.round();
    expect(await stage.states()).toEqual(['planned 1']);
    await stage.pass(minutes * 67);
  }
  await replica.round();
  expect([await stage.states(), await breaker(stage)]).toEqual([['refused 1'], 'none']);
});

test('an outage in which LINE refuses content as well, whatever it is, fails nobody, however few it meets', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  await planPushes(stage, 2);
  stage.simulator.faults.set({ rules: [{ id: 'f', effect: { type: 'status', status: 400 } }] });
  for (let hour = 0; hour < 3; hour += 1) {
    await replica.round();
    await stage.pass(3_600);
  }
  expect(await stage.states()).toEqual(['planned 2']);
  stage.simulator.faults.clear();
  await replica.round();
  expect(await stage.states()).toEqual(['accepted 2']);
});

test('one that is refused three times, a minute and more apart, while LINE accepts others, is its recipient’s own fault', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  const match = { endpoint: 'push', bodyContains: '[[lid:a0]]' };
  stage.simulator.faults.set({ rules: [{ id: 'f', match, effect: { type: 'status', status: 400 } }] });
  await planPushes(stage, 1);
  for (const minutes of [1, 2, 4]) {
    await replica.round(); // nobody else is sent anything: the account may not be served at all
    await stage.pass(minutes * 67);
  }
  await replica.round();
  const refusedAt = performance.now();
  expect(await stage.states()).toEqual(['planned 1']);

  await planPushes(stage, 2, 1);
  await replica.round();
  expect(await stage.states()).toEqual(['accepted 2', 'planned 1']);
  await stage.pass(8 * 67);
  const locker = await database.db.$client.connect();
  await locker.query('begin; lock table account_trouble in share mode');
  const round = replica.round();
  await lockWaiters(database.db);
  await sleep(performance.now() - refusedAt); // to note this refusal takes longer than all that was since the one before
  await locker.query('commit');
  locker.release();
  await round;
  expect([await stage.states(), await breaker(stage)]).toEqual([['accepted 2', 'refused 1'], 'false']);
  expect(stage.requests(PUSH)).toHaveLength(7);
});

/** Lets one of the requests through, and refuses the others. */
const everyOther = {
  id: 'f',
  match: { endpoint: 'push', probability: 0.5 },
  effect: { type: 'status', status: 400 } as const,
};

test('an outage that meets every other request of an account that sends little, for ten minutes, fails nobody', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage);
  stage.simulator.faults.set({ seed: 7, rules: [everyOther] });
  for (let minute = 0; minute < 10; minute += 1) {
    await planPushes(stage, 3, minute * 3);
    await replica.round();
    await stage.pass(61);
  }
  stage.simulator.faults.clear();
  for (let hour = 0; hour < 6; hour += 1) {
    await replica.round();
    await stage.pass(3_600);
  }
  expect(await stage.states()).toEqual(['accepted 30']);
});

test('when LINE does not say whether the content is bad, nobody is failed', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db);
  const replica = replicaOf(stage, { limits: { ...BREAKER_LIMITS, refusals: 100 } });
  await planPushes(stage, 3);
  stage.simulator.faults.set({
    rules: [
      { id: 'a', match: { endpoint: 'push' }, effect: { type: 'status', status: 400 } },
      { id: 'b', match: { endpoint: 'validate/push' }, effect: { type: 'status', status: 500 } },
    ],
  });
  for (let minute = 0; minute < 3; minute += 1) {
    await replica.round();
    await stage.pass(70);
  }
  expect(await stage.states()).toEqual(['planned 3']);
});

test('what was announced in vain while the breaker was open goes out as soon as LINE accepts again', async () => {
  await using database = await testDb();
  const { db } = database;
  const stage = await stageOf(db);
  const replica = replicaOf(stage);
  const tickets = await planPushes(stage, 20);
  stage.simulator.faults.set(spurious('push', 5));
  await replica.send(tickets.slice(0, 5));
  expect(await breaker(stage)).toBe('true');
  await db.$client.query(
    `update delivery set published_at = clock_timestamp(), announce_count = 4 where next_attempt_at <= app_now()`,
  );
  await stage.pass(340); // what was refused is held for up to a tenth longer
  await replica.send(tickets.slice(5, 6)); // one to see, and LINE is well
  expect(await breaker(stage)).toBe('false');
  expect(await announceDeliveries(db, { limit: 100, againAfterSeconds: 60 })).toHaveLength(19);
});
