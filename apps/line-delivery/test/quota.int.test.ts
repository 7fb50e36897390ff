import { columnOf, testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { CHANNEL, planCampaign, planPushes, replicaOf, type Stage, stageOf } from './guarded-stage.ts';

const limited = (value: number) => ({ type: 'limited', value }) as const;
const QUOTA_PATH = '/v2/bot/message/quota';
const MULTICAST_PATH = '/v2/bot/message/multicast';

const audit = ({ db }: Stage) =>
  columnOf(db, `select concat_ws(' ', operation, done_by, after ->> 'reasonCode') from audit_log order by id`);
const attention = ({ db }: Stage) =>
  columnOf(db, `select concat_ws(' ', kind, reason_code, status) from attention_item order by id`);

test('a campaign that the month has no room for is paused after the chunk that fitted, and the rest goes out once when there is more [T11]', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db, { quota: limited(700) });
  const [one, two] = [replicaOf(stage), replicaOf(stage)];
  await planCampaign(stage, 1_250);

  await one.round();
  expect(await stage.status()).toBe('paused_quota');
  expect(await stage.states()).toEqual(['accepted 1', 'planned 2']);
  expect(await audit(stage)).toEqual(['pause system monthly_limit']);
  expect(await attention(stage)).toEqual(['account_paused monthly_limit open']);
  stage.simulator.scenario.markPaused(CHANNEL.channelId);

  for (let minute = 0; minute < 3; minute += 1) {
    await stage.pass(60);
    await Promise.all([one.round(), two.round(), one.look(), two.look()]);
  }
  expect(await stage.status()).toBe('paused_quota');
  expect(stage.requests(MULTICAST_PATH)).toHaveLength(3);

  stage.simulator.scenario.setQuota(CHANNEL.channelId, limited(5_000));
  stage.simulator.scenario.markResumed(CHANNEL.channelId);
  await Promise.all([one.look(), two.look()]);
  expect(await stage.status()).toBe('active');
  await two.round();

  expect(await stage.states()).toEqual(['accepted 3']);
  const receipts = [...stage.simulator.ledger.receipts()];
  expect([receipts.length, new Set(receipts.map(({ user }) => user)).size]).toEqual([1_250, 1_250]);
  expect([...stage.simulator.ledger.violations()]).toEqual([]);
  expect(await audit(stage)).toEqual(['pause system monthly_limit', 'unpause system']);
  expect(await attention(stage)).toEqual(['account_paused monthly_limit resolved']);
  expect(await columnOf(stage.db, 'select status from campaign')).toEqual(['sent']);
});

test('messages that a narrowcast holds back are waited for, minute by minute, without a pause [T12]', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db, { quota: limited(5_000) });
  const replica = replicaOf(stage);
  await planCampaign(stage, 1_250);
  stage.simulator.scenario.startNarrowcastReservation(CHANNEL.channelId, 5_000, 300_000);

  for (let minute = 0; minute < 7; minute += 1) {
    await replica.round();
    expect(await stage.status()).toBe('active');
    await stage.pass(61);
  }

  expect(await stage.states()).toEqual(['accepted 3']);
  expect([...stage.simulator.ledger.receipts()]).toHaveLength(1_250);
  expect(stage.requests(MULTICAST_PATH)).toHaveLength(5 * 3 + 3);
  expect(await audit(stage)).toEqual([]);
  expect(await columnOf(stage.db, 'select throttled_since from account_trouble')).toEqual([null]);
});

test('what is held back for more than half an hour is a pause, which is over when the numbers change or an hour has passed', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db, { quota: limited(5_000) });
  const replica = replicaOf(stage);
  await planPushes(stage, 1);
  stage.simulator.scenario.startNarrowcastReservation(CHANNEL.channelId, 5_000, 4 * 3_600_000);

  for (let minute = 0; minute < 31; minute += 1) {
    expect(await stage.status()).toBe('active');
    await replica.round();
    await stage.pass(61);
  }
  expect(await audit(stage)).toEqual(['pause system held_back']);
  await replica.look();
  expect(await stage.status()).toBe('paused_quota');

  stage.simulator.scenario.consumeOutside(CHANNEL.channelId, 1);
  await replica.look();
  expect(await stage.status()).toBe('active');
  for (let minute = 0; minute < 31; minute += 1) {
    await replica.round();
    await stage.pass(61);
  }
  expect(await stage.status()).toBe('paused_quota');
  await stage.pass(3_600);
  await replica.look();
  expect(await stage.status()).toBe('active');
});

test('a new month of LINE ends the pause of a month that was used up', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db, { quota: limited(1) });
  const replica = replicaOf(stage);
  stage.simulator.scenario.consumeOutside(CHANNEL.channelId, 1);
  await planPushes(stage, 1);
  await replica.round();
  expect(await stage.status()).toBe('paused_quota');
  await replica.look();
  expect(await stage.status()).toBe('paused_quota');
  await database.db.$client.query(`update delivery set deliver_until = deliver_until + interval '40 days'`);

  await stage.pass(32 * 86_400);
  await replica.look();
  expect(await stage.status()).toBe('active');
  await database.db.$client.query(`update delivery set next_attempt_at = app_now(), first_attempt_at = app_now()`);
  await replica.round();
  expect(await stage.states()).toEqual(['accepted 1']);
});

test('a 429 of an unknown text is one of the rate for a quarter of an hour, and then a question about the month', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db, { quota: limited(10) });
  const replica = replicaOf(stage);
  await planPushes(stage, 1);
  stage.simulator.scenario.consumeOutside(CHANNEL.channelId, 10);
  const effect = { type: 'status', status: 429, message: 'Not now' } as const;
  stage.simulator.faults.set({ rules: [{ id: 'f', match: { endpoint: 'push' }, effect }] });

  for (let minute = 0; minute < 15; minute += 1) {
    await replica.round();
    await stage.pass(60);
  }
  expect([await stage.status(), stage.requests(QUOTA_PATH).length]).toEqual(['active', 0]);
  await replica.round();
  expect(await stage.status()).toBe('paused_quota');
  expect(await stage.states()).toEqual(['planned 1']);
});

test('what is in doubt is asked for under its key while its account is paused, and nobody gets it twice', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db, { quota: limited(3) });
  const replica = replicaOf(stage);
  const [, , doubtful] = await planPushes(stage, 5);
  const effect = { type: 'status', status: 503 } as const;
  const match = { endpoint: 'push', nth: [1, 2, 3] };
  stage.simulator.faults.set({ rules: [{ id: 'f', match, phase: 'afterAccept', effect }] });
  expect(doubtful).toBeDefined();

  await replica.round();
  expect([await stage.status(), await stage.states()]).toEqual(['paused_quota', ['planned 5']]);
  expect([...stage.simulator.ledger.receipts()]).toHaveLength(3);

  await stage.pass(180);
  await replica.round();
  expect([await stage.status(), await stage.states()]).toEqual(['paused_quota', ['accepted 3', 'planned 2']]);
  expect([...stage.simulator.ledger.receipts()]).toHaveLength(3);
  expect([...stage.simulator.ledger.violations()]).toEqual([]);
});

test('one that may have been accepted before the month was used up is asked for every hour, not every minute', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db, { quota: limited(10) });
  const replica = replicaOf(stage);
  await planPushes(stage, 1);
  const effect = { type: 'status', status: 503 } as const;
  stage.simulator.faults.set({
    rules: [{ id: 'f', match: { endpoint: 'push', nth: [1] }, phase: 'beforeAccept', effect }],
  });
  await replica.round();
  stage.simulator.scenario.consumeOutside(CHANNEL.channelId, 10);

  await stage.pass(180);
  await replica.round();
  expect(await stage.status()).toBe('paused_quota');
  const waits = `select round(extract(epoch from next_attempt_at - app_now()) / 60) from delivery`;
  expect(await columnOf(stage.db, waits)).toEqual(['60']);
  await stage.pass(1_800);
  await replica.round();
  expect(stage.requests('/v2/bot/message/push')).toHaveLength(2);
  await stage.pass(1_900);
  await replica.round();
  expect(stage.requests('/v2/bot/message/push')).toHaveLength(3);
});

test('one that may have been accepted is asked for every minute while its account is not paused, though the month has no room for it now', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db, { quota: limited(10) });
  const replica = replicaOf(stage);
  await planPushes(stage, 1);
  stage.simulator.faults.set({
    rules: [
      { id: 'lost', match: { endpoint: 'push', nth: [1] }, effect: { type: 'reset' }, phase: 'beforeAccept' },
      { id: 'untold', match: { endpoint: 'quota' }, effect: { type: 'reset' } },
    ],
  });
  await replica.round();
  stage.simulator.scenario.consumeOutside(CHANNEL.channelId, 10);
  await stage.pass(180);
  await replica.round();
  expect([await stage.status(), await stage.states()]).toEqual(['active', ['planned 1']]);

  stage.simulator.scenario.setQuota(CHANNEL.channelId, limited(5_000));
  await stage.pass(61);
  await replica.round();
  expect(await stage.states()).toEqual(['accepted 1']);
});

test('one whose answer is written when the pause that it led to is over waits a minute, not an hour', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db, { quota: limited(10) });
  let meanwhile = async () => {};
  const replica = replicaOf(stage, { beforeSettle: () => meanwhile() });
  await planPushes(stage, 1);
  stage.simulator.faults.set({
    rules: [{ id: 'lost', match: { endpoint: 'push', nth: [1] }, effect: { type: 'reset' }, phase: 'beforeAccept' }],
  });
  await replica.round();
  stage.simulator.scenario.consumeOutside(CHANNEL.channelId, 10);
  await stage.pass(180);
  meanwhile = async () => {
    expect(await stage.status()).toBe('paused_quota');
    stage.simulator.scenario.setQuota(CHANNEL.channelId, limited(5_000));
    await replica.look();
  };
  await replica.round();
  expect([await stage.status(), await stage.states()]).toEqual(['active', ['planned 1']]);
  meanwhile = async () => {};
  await stage.pass(61);
  await replica.round();
  expect(await stage.states()).toEqual(['accepted 1']);
});

test('an account that is stopped while it is paused stays stopped, whatever becomes of the pause', async () => {
  await using database = await testDb();
  const stage = await stageOf(database.db, { quota: limited(1) });
  const replica = replicaOf(stage);
  stage.simulator.scenario.consumeOutside(CHANNEL.channelId, 1);
  await planPushes(stage, 2);
  await replica.round();
  await database.db.$client.query('update line_oa set stopped_at = app_now()');
  stage.simulator.scenario.setQuota(CHANNEL.channelId, { type: 'none' });

  await stage.pass(120);
  await replica.look();
  expect(await stage.status()).toBe('paused_quota');
  await database.db.$client.query(`update line_oa set status = 'active'`);
  await replica.round();
  expect([...stage.simulator.ledger.receipts()]).toEqual([]);
});
