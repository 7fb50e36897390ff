import { isMonthTold, recordMonth, wantMonth } from '@dueline/accounts';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Db } from '@dueline/db';
import { columnOf, insertTenant, moveProductTime, testDb } from '@dueline/db/testing';
import { createLineAccountClient } from '@dueline/line-client';
import { expect, onTestFinished, test } from 'vitest';
import { askMonth, askWantedMonths } from '../src/ask-months.ts';
import { audienceOf, CHANNEL, claimOne, stage } from './campaign-stage.ts';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const states = (db: Db) => columnOf(db, `select concat_ws(' ', status, reason_code) from campaign order by id`);
const months = (db: Db) =>
  columnOf(
    db,
    `select concat_ws(' ', quota, used, case when wanted_at is null then 'told' else 'wanted' end) from month_quota`,
  );

async function stageWithMonths(db: Db, { token = CHANNEL.channelAccessToken }: { token?: string } = {}) {
  const on = await stage(db);
  const line = createLineAccountClient({ baseUrl: on.simulator.apiUrl });
  onTestFinished(() => line.close());
  const ask = askMonth({ db, line, log: quiet, channelAccessToken: async () => token });
  return { ...on, ask, look: askWantedMonths({ db }, ask) };
}

test('a campaign that LINE says the month cannot carry is held with the numbers, nothing is sent, and it starts when a person says so', async () => {
  await using database = await testDb();
  const { db } = database;
  const { simulator, tenant, published, start, ask } = await stageWithMonths(db);
  simulator.scenario.setQuota(CHANNEL.channelId, { type: 'limited', value: 700 });
  await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, 1_250) });

  expect(await start(await claimOne(db), undefined, ask)).toMatchObject({
    detail: { result: 'needs_attention', chunks: 0, reasonCode: 'quota_short', needed: 1_250, left: 700 },
  });
  expect(await states(db)).toEqual(['needs_attention quota_short']);
  expect(
    await columnOf(db, `select concat_ws(' ', start_check ->> 'needed', start_check ->> 'left') from campaign`),
  ).toEqual(['1250 700']);
  expect(published).toEqual([]);
  expect(await columnOf(db, 'select count(*) from delivery')).toEqual(['0']);
  expect([...simulator.ledger.receipts()]).toEqual([]);

  simulator.scenario.setQuota(CHANNEL.channelId, { type: 'limited', value: 1_250 });
  await db.$client.query(`update campaign set status = 'scheduled', fence = fence + 1`);
  expect(await start(await claimOne(db), undefined, ask)).toMatchObject({ detail: { result: 'frozen', chunks: 3 } });
});

test('a campaign starts unchecked when LINE does not tell, and says so', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, start, ask } = await stageWithMonths(db, { token: 'of nobody' });
  await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, 2) });
  expect(await start(await claimOne(db), undefined, ask)).toMatchObject({ detail: { result: 'frozen' } });
  expect(await columnOf(db, `select start_check ->> 'month' from campaign`)).toEqual(['unknown']);
});

test('a stale ticket asks LINE nothing', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, start } = await stageWithMonths(db);
  await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, 2) });
  const ticket = await claimOne(db);
  let asked = 0;
  const ask = async () => {
    asked += 1;
  };
  await start(ticket, undefined, ask);
  expect(await start(ticket, undefined, ask)).toMatchObject({ outcome: 'discarded' });
  expect(asked).toBe(1);
});

test('whoever wants to know how a month stands is answered by one process, once', async () => {
  await using database = await testDb();
  const { db } = database;
  const { simulator, tenant, look } = await stageWithMonths(db);
  const asked = () => [...simulator.ledger.requests()].filter(({ path }) => path.startsWith('/v2/bot/message/quota'));
  simulator.scenario.setQuota(CHANNEL.channelId, { type: 'limited', value: 700 });
  await Promise.all([look(), look()]);
  expect(asked()).toEqual([]);
  await wantMonth(db, tenant);
  expect(await isMonthTold(db, tenant)).toBe(false);
  await Promise.all([look(), look(), look()]);
  expect(await months(db)).toEqual(['700 0 told']);
  expect(await isMonthTold(db, tenant)).toBe(true);
  await look();
  expect(asked().filter(({ path }) => path.endsWith('/consumption'))).toHaveLength(1);
});

test('a wish that LINE does not answer is tried again after a while, for ten minutes', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, look } = await stageWithMonths(db, { token: 'of nobody' });
  await wantMonth(db, tenant);
  await look();
  expect(await months(db)).toEqual(['wanted']);
  const working = askWantedMonths({ db }, (account) => recordMonth(db, account, { quota: null, used: 5 }));
  await working(); // still held by whoever asked
  expect(await months(db)).toEqual(['wanted']);
  await db.$client.query(`update month_quota set lease_until = clock_timestamp() - interval '1 second'`);
  await moveProductTime(db, 601);
  await working();
  expect(await months(db)).toEqual(['wanted']);
  await wantMonth(db, tenant);
  await working();
  expect(await months(db)).toEqual(['5 told']);
});

test('the numbers of another account are not this one’s', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, start } = await stageWithMonths(db);
  await recordMonth(db, await insertTenant(db), { quota: 1, used: 1 });
  await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, 2) });
  expect(await start(await claimOne(db))).toMatchObject({ detail: { result: 'frozen' } });
});
