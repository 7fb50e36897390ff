import { dueCampaign } from '@dueline/campaigns/testing';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { createDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { createSentCountClient } from '@dueline/line-client';
import { nthUserId } from '@dueline/line-simulator';
import { expect, onTestFinished, test } from 'vitest';
import { type CompareDeps, compareSentCounts } from '../src/compare-sent-counts.ts';
import { audienceOf, CHANNEL, claimOne, membersOf, stage } from './campaign-stage.ts';

type Stage = Awaited<ReturnType<typeof stage>>;
const DAY = 86_400;
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** A stage at noon of UTC+9, so that what a test sends is of one day, and a look at what LINE counted. */
async function noon({ db, as }: TestDb) {
  const on = await stage(db);
  const [seconds] = await columnOf(
    db,
    `select extract(epoch from date_trunc('day', app_now() at time zone 'UTC' + interval '9 hours') + interval '36 hours'
                               - (app_now() at time zone 'UTC' + interval '9 hours'))::int`,
  );
  await on.pass(Number(seconds));
  const line = createSentCountClient({ baseUrl: on.simulator.apiUrl });
  onTestFinished(() => line.close());
  const results: string[] = [];
  const worker = as('line-delivery');
  const look = (changes: Partial<CompareDeps> = {}) =>
    compareSentCounts({
      ...{ db: worker, line, log, tolerancePercent: 2, channelAccessToken: async () => CHANNEL.channelAccessToken },
      onCompared: (result) => results.push(result),
      ...changes,
    })();
  return { ...on, look, results };
}

async function sendCampaign(db: Db, on: Stage, audienceId?: string): Promise<void> {
  await dueCampaign(db, on.tenant, audienceId === undefined ? {} : { audienceId });
  await on.start(await claimOne(db));
  await db.$client.query('update delivery set published_at = null');
  await on.sendDue();
}

const lose = ({ simulator }: Stage, endpoint: string, max = 1) =>
  simulator.faults.set({ rules: [{ id: 'f16', match: { endpoint }, max, effect: { type: 'withoutDelivery' } }] });

const items = (db: Db) =>
  columnOf(db, `select concat_ws(' ', kind, reason_code, detail - 'day') from attention_item order by id`);
const figures = (db: Db) =>
  columnOf(
    db,
    `select concat_ws(' ', status, ours -> 'accepted' ->> 'multicast', ours -> 'blocked' ->> 'multicast',
                                 theirs ->> 'multicast', deficit) from sent_count order by day`,
  );

test('a chunk that LINE answered with 200 and never delivered is accepted; the day after a person hears of a possible loss, and nothing is sent again [T19]', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await noon(database);
  lose(on, 'multicast');
  await sendCampaign(db, on, await audienceOf(db, on.tenant, 1_250));
  expect(await columnOf(db, `select concat_ws(' ', status, count(*)) from delivery group by status`)).toEqual([
    'accepted 3',
  ]);
  await on.look();
  expect(await figures(db)).toEqual([]); // the day is not over
  await on.pass(DAY);
  await Promise.all([on.look(), on.look(), on.look()]);
  await on.look();

  const lost = 1_250 - [...on.simulator.ledger.receipts()].length;
  expect([250, 500]).toContain(lost);
  expect(await figures(db)).toEqual([`deficit 1250 0 ${1_250 - lost} ${lost}`]);
  expect(on.results).toEqual(['deficit']);
  const [item] = await items(db);
  expect(item).toContain('possible_platform_loss fewer_sent_than_accepted');
  expect(item).toContain(`"deficit": ${lost}`);
  expect(await items(db)).toHaveLength(1);
  expect([...on.simulator.ledger.requests()].filter(({ method }) => method === 'POST')).toHaveLength(3);
});

test('who blocked the account and is known to have is not missing; who is not known to have is, up to the tolerance', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await noon(database);
  const audienceId = await audienceOf(db, on.tenant, 1_000);
  await on.control('users/block', { channelId: CHANNEL.channelId, userIds: membersOf(220) });
  await sendCampaign(db, on, audienceId);
  await db.$client.query('update line_user set is_following = false where user_id = any($1)', [membersOf(200)]);
  await on.pass(DAY);
  await on.look();
  expect(await figures(db)).toEqual(['deficit 1000 200 780 20']); // 2 % of 800 are 16
  await db.$client.query(
    `update sent_count set status = 'waiting', theirs = null, deficit = null; delete from attention_item`,
  );
  await on.look({ tolerancePercent: 5 });
  expect([await figures(db), await items(db)]).toEqual([['agrees 1000 200 780 20'], []]);
});

test('a broadcast that reached nobody is missing at least the friends whom we know; a push that did counts for itself', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await noon(database);
  await audienceOf(db, on.tenant, 100);
  lose(on, 'broadcast');
  await sendCampaign(db, on);
  const push = deliveryToCreate(on.tenant, { channelId: CHANNEL.channelId, userId: nthUserId('e', 1) });
  await inTransaction(db, (tx) => createDeliveries(tx, [push]));
  await db.$client.query('update delivery set published_at = null');
  await on.sendDue();
  await on.pass(DAY);
  await on.look();
  expect(
    await columnOf(db, `select concat_ws(' ', status, ours ->> 'accepted', theirs, deficit) from sent_count`),
  ).toEqual(['deficit {"push": 1, "broadcast": 100, "multicast": 0} {"push": 1, "broadcast": 0, "multicast": 0} 100']);
});

test('while LINE has not counted it is asked every hour, for some days; days that passed unseen are caught up with', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await noon(database);
  await sendCampaign(db, on, await audienceOf(db, on.tenant, 10));
  await on.pass(DAY);
  let asked = 0;
  const sentOn = async () => {
    asked += 1;
    return { kind: 'unready' } as const;
  };
  await on.look({ line: { sentOn } });
  await on.look({ line: { sentOn } });
  expect([asked, on.results]).toEqual([3, ['not_told']]);
  await on.pass(3_600);
  await on.look();
  expect(await figures(db)).toEqual(['agrees 10 0 10 0']);

  await on.pass(3 * DAY);
  await on.look();
  expect(await columnOf(db, 'select count(*) from sent_count_day')).toEqual(['4']);
  await db.$client.query(`update sent_count set status = 'waiting', theirs = null, deficit = null`);
  await on.pass(2 * DAY);
  await on.look({ channelAccessToken: () => Promise.reject(new Error('no token')) });
  expect(await columnOf(db, 'select status from sent_count')).toEqual(['not_told']);
});
