import { closeCampaigns, reapCampaigns } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Db } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import { retryKey } from '@dueline/deliveries';
import type { Broker } from '@dueline/mq';
import { expect, test } from 'vitest';
import { audienceOf, CHANNEL, claimOne, FRIENDS, stage } from './campaign-stage.ts';

const states = (db: Db) => columnOf(db, `select concat_ws(' ', status, reason_code) from campaign order by id`);

test('a multicast to 1,250 goes out in requests of 500, 500 and 250 under the published keys, each person once, and is sent [T01] [T09]', async () => {
  await using database = await testDb();
  const { db } = database;
  const { simulator, tenant, published, start, send } = await stage(db);
  const { id } = await dueCampaign(db, tenant, {
    audienceId: await audienceOf(db, tenant, 1_250),
    text: 'spring [[lid:spring]]',
  });
  const ticket = await claimOne(db);

  const outcomes = await Promise.all([start(ticket), start(ticket), start(ticket)]);
  expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['discarded', 'discarded', 'done']);
  expect(published).toHaveLength(3);
  expect(await send(published)).toEqual({ outcome: 'done', detail: { started: 3 } });
  expect(await send(published)).toMatchObject({ outcome: 'discarded' });

  const receipts = [...simulator.ledger.receipts()];
  expect(new Set(receipts.map(({ user }) => user)).size).toBe(1_250);
  expect(receipts).toHaveLength(1_250);
  expect([...simulator.ledger.violations()]).toEqual([]);
  const keys = [0, 1, 2].map((ordinal) =>
    retryKey({
      ...{ channelId: CHANNEL.channelId, kind: 'campaign', logicalId: id, epoch: 1 },
      ...{ endpoint: 'multicast', ordinal, splitPath: '' },
    }),
  );
  expect(await columnOf(db, 'select retry_key from delivery order by chunk_no')).toEqual(keys);
  expect(await columnOf(db, `select jsonb_array_length(body::jsonb -> 'to') from delivery order by chunk_no`)).toEqual([
    '500',
    '500',
    '250',
  ]);
  expect(await states(db)).toEqual(['sent']);
});

test('a broadcast reaches every friend of the account once, in one request', async () => {
  await using database = await testDb();
  const { db } = database;
  const { simulator, tenant, published, start, send } = await stage(db);
  await dueCampaign(db, tenant, { text: 'all [[lid:all]]' });

  await start(await claimOne(db));
  await send(published);

  expect([...simulator.ledger.requests()]).toHaveLength(1);
  expect([...simulator.ledger.receipts()]).toHaveLength(FRIENDS);
  expect(await columnOf(db, 'select concat(endpoint, user_id, chunk_no) from delivery')).toEqual(['broadcast0']);
  expect(await states(db)).toEqual(['sent']);
});

test('no chunk starts while its campaign is not being sent, and a campaign that was taken back goes on with what is left [SEM-122]', async () => {
  await using database = await testDb();
  const { db } = database;
  const { simulator, tenant, published, start, send } = await stage(db);
  await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, 1_100) });
  await start(await claimOne(db));
  const [first, ...others] = published.splice(0);
  await send(first === undefined ? [] : [first]);
  await db.$client.query(`update campaign set claimed_at = clock_timestamp() - interval '16 minutes'`);
  expect(await reapCampaigns(db, { staleSeconds: 900 })).toBe(1);

  expect(await send(others)).toMatchObject({ outcome: 'discarded' });
  expect(await start(await claimOne(db))).toMatchObject({ detail: { result: 'resumed', chunks: 2 } });
  expect(published.map(({ id }) => id)).toEqual(others.map(({ id }) => id));
  await send(published);

  expect([...simulator.ledger.requests()]).toHaveLength(3);
  expect([...simulator.ledger.receipts()]).toHaveLength(1_100);
  expect(await states(db)).toEqual(['sent']);
});

test('chunks whose tickets did not reach the broker are left to the announcing sweep', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, start } = await stage(db);
  await dueCampaign(db, tenant);
  const refuse: Broker['publish'] = async (_queue, messages) =>
    messages.map(() => ({ ok: false, reason: 'timeout' }) as const);
  expect(await start(await claimOne(db), refuse)).toMatchObject({ outcome: 'done' });
  expect(await columnOf(db, `select concat_ws(' ', status, published_at) from delivery`)).toEqual(['planned']);
});

test('a campaign that nobody closed after its last chunk is closed by the sweep', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, published, start, send } = await stage(db);
  await dueCampaign(db, tenant);
  await start(await claimOne(db));
  await send(published, false);
  expect(await states(db)).toEqual(['sending']);
  expect(await closeCampaigns(db)).toHaveLength(1);
  expect(await states(db)).toEqual(['sent']);
});

test('a chunk is sent until the last instant of its campaign, not for a day', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, start } = await stage(db);
  await dueCampaign(db, tenant, { notAfter: '2999-01-01T00:00:00Z' });
  await start(await claimOne(db));
  expect(
    await columnOf(db, `select deliver_until = not_after from delivery join campaign on campaign.id = campaign_id`),
  ).toEqual(['true']);
});
