import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { closeCampaigns, heartbeatCampaign, reapCampaigns } from '../src/index.ts';
import { dueCampaign } from '../src/testing.ts';
import { claim, claimOne, insertAudience, join, moveChunk, start, states } from './support.ts';

let own: TestDb;
let tenant: Tenant;
const disposals: TestDb[] = [];
beforeEach(async () => {
  own = await testDb();
  disposals.push(own);
  tenant = await insertTenant(own.db);
});
afterAll(async () => {
  for (const database of disposals) await database[Symbol.asyncDispose]();
});

const sizes = () => columnOf(own.db, 'select user_count from campaign_chunk order by campaign_id, chunk_no');

/** A started campaign to so many members. */
async function started(members: number): Promise<string> {
  const userIds = await insertUsers(own.db, tenant, members);
  const { id } = await dueCampaign(own.db, tenant, { audienceId: await insertAudience(own.db, tenant, userIds) });
  expect(await start(own.db, await claimOne(own.db))).toBe('frozen');
  return id;
}

test('an audience of 1,250 is frozen once in sorted chunks of 500, 500 and 250, by however many start it at once', async () => {
  const userIds = await insertUsers(own.db, tenant, 1_250);
  await dueCampaign(own.db, tenant, { audienceId: await insertAudience(own.db, tenant, userIds.toReversed()) });
  const ticket = await claimOne(own.db);

  const starts = await Promise.all(Array.from({ length: 10 }, () => start(own.db, ticket)));

  expect(starts.filter((result) => result !== undefined)).toEqual(['frozen']);
  expect(await sizes()).toEqual(['500', '500', '250']);
  expect(await columnOf(own.db, 'select unnest(user_ids) from campaign_chunk order by chunk_no')).toEqual(userIds);
  expect(await columnOf(own.db, 'select chunk_no from delivery order by 1')).toEqual(['0', '1', '2']);
  expect(await columnOf(own.db, 'select planned_count from campaign where frozen_at is not null')).toEqual(['1250']);
});

test('an audience beyond one page of the freeze has every member in exactly one chunk', async () => {
  const userIds = await insertUsers(own.db, tenant, 20_501);
  await dueCampaign(own.db, tenant, { audienceId: await insertAudience(own.db, tenant, userIds) });
  await start(own.db, await claimOne(own.db), { planChunks: async () => undefined });
  expect((await sizes()).slice(-3)).toEqual(['500', '500', '1']);
  expect(
    await columnOf(own.db, 'select count(distinct u) from campaign_chunk cross join unnest(user_ids) as u'),
  ).toEqual(['20501']);
});

test('who joins after the freeze is not reached, nor who had blocked the account before', async () => {
  const userIds = await insertUsers(own.db, tenant, 4);
  await own.db.$client.query('update line_user set is_following = false where user_id = $1', [lineUserId(2)]);
  const audienceId = await insertAudience(own.db, tenant, userIds.slice(0, 3));
  await dueCampaign(own.db, tenant, { audienceId });
  await start(own.db, await claimOne(own.db));
  await join(own.db, { audienceId, userIds: userIds.slice(3) });
  expect(await columnOf(own.db, 'select unnest(user_ids) from campaign_chunk')).toEqual([lineUserId(1), lineUserId(3)]);
});

test('a broadcast is one chunk without user ids, and its count is LINE’s alone', async () => {
  await dueCampaign(own.db, tenant);
  expect(await start(own.db, await claimOne(own.db))).toBe('frozen');
  expect(await columnOf(own.db, `select concat(chunk_no, user_ids::text, user_count) from campaign_chunk`)).toEqual([
    '0',
  ]);
  expect(await columnOf(own.db, 'select planned_count from campaign')).toEqual([null]);
});

test('a campaign that was reaped after its freeze goes on with the same chunks', async () => {
  const id = await started(3);
  const audienceId = (await columnOf(own.db, 'select audience_id from campaign'))[0] ?? '';
  await own.db.$client.query(`update campaign set claimed_at = clock_timestamp() - interval '16 minutes'`);
  await insertUsers(own.db, await insertTenant(own.db), 1);
  await reapCampaigns(own.db, { staleSeconds: 900 });
  const ticket = await claimOne(own.db);
  expect(ticket).toMatchObject({ campaignId: id, audienceId, fence: '5' });
  expect(await start(own.db, ticket)).toBe('resumed');
  expect(await start(own.db, ticket)).toBeUndefined();
  expect(await sizes()).toEqual(['3']);
});

test('more people than were confirmed are not reached before a person looked', async () => {
  const userIds = await insertUsers(own.db, tenant, 3);
  const audienceId = await insertAudience(own.db, tenant, userIds.slice(0, 2));
  await dueCampaign(own.db, tenant, { audienceId });
  await join(own.db, { audienceId, userIds: userIds.slice(2) });
  await dueCampaign(own.db, tenant, { audienceId });
  const [two, three] = await claim(own.db);
  expect([two && (await start(own.db, two)), three && (await start(own.db, three))]).toEqual([
    'needs_attention',
    'frozen',
  ]);
  expect(await states(own.db)).toEqual(['needs_attention 3 more_than_confirmed', 'sending 3']);
  expect(await sizes()).toEqual(['3']);
});

test('a ticket of another tenant, or of a campaign that was deleted meanwhile, starts nothing', async () => {
  await dueCampaign(own.db, tenant);
  const ticket = await claimOne(own.db);
  expect(await start(own.db, { ...ticket, ...(await insertTenant(own.db)) })).toBeUndefined();
  await own.db.$client.query('update campaign set deleted_date = app_now()');
  expect(await start(own.db, ticket)).toBeUndefined();
});

test('a freeze that fails leaves nothing, and the ticket is still good', async () => {
  await dueCampaign(own.db, tenant);
  const ticket = await claimOne(own.db);
  const fail = () => Promise.reject(new Error('no room'));
  await expect(start(own.db, ticket, { planChunks: fail })).rejects.toThrow('no room');
  expect(await sizes()).toEqual([]);
  expect(await start(own.db, ticket)).toBe('frozen');
});

test('of two last chunks that end at the same moment one close finds the campaign sent [SEM-125]', async () => {
  const id = await started(1_000);
  expect(await closeCampaigns(own.db)).toEqual([]);
  const end = async (chunk: number) => {
    await moveChunk(own.db, { chunk, to: 'sending' });
    await moveChunk(own.db, { chunk, to: 'accepted' });
    return closeCampaigns(own.db, { campaignIds: [id] });
  };
  const closed = await Promise.all([end(0), end(1)]);
  expect(closed.flat()).toEqual([{ ...tenant, id, status: 'sent', reasonCode: null }]);
  expect(await columnOf(own.db, `select status from campaign where sent_at is not null`)).toEqual(['sent']);
  expect(await closeCampaigns(own.db)).toEqual([]);
});

type End = Parameters<typeof moveChunk>[1];
const CLOSED: readonly (readonly [ends: readonly (readonly [End['to'], string?])[], state: string])[] = [
  [[['unknown'], ['accepted']], 'needs_attention 4 chunk_unknown'],
  [[['unknown'], ['refused', 'content']], 'needs_attention 4 chunk_unknown'],
  [[['accepted'], ['refused', 'invalid_recipient']], 'sent 4'],
  [[['accepted'], ['refused', 'too_large']], 'needs_attention 4 chunk_not_sent'],
  [[['accepted'], ['refused', 'content']], 'needs_attention 4 chunk_not_sent'],
  [[['accepted'], ['expired', 'too_late']], 'needs_attention 4 chunk_not_sent'],
  [
    [
      ['expired', 'too_late'],
      ['refused', 'content'],
    ],
    'failed 4 content_refused',
  ],
  [
    [
      ['refused', 'content'],
      ['refused', 'content'],
    ],
    'failed 4 content_refused',
  ],
];

test.for(CLOSED)('a campaign whose requests end as %j is closed as %s', async ([ends, state]) => {
  await started(501);
  for (const [chunk, [to, reason]] of ends.entries()) {
    if (to !== 'expired') await moveChunk(own.db, { chunk, to: 'sending' });
    await moveChunk(own.db, { chunk, to, reason });
  }
  expect(await closeCampaigns(own.db)).toHaveLength(1);
  expect(await states(own.db)).toEqual([state]);
});

test('a campaign of which nobody is left is sent to nobody; one that is not frozen yet is left alone', async () => {
  const [userId = ''] = await insertUsers(own.db, tenant, 1);
  await dueCampaign(own.db, tenant, { audienceId: await insertAudience(own.db, tenant, [userId]) });
  await own.db.$client.query('update line_user set is_following = false');
  await start(own.db, await claimOne(own.db));
  expect(await columnOf(own.db, 'select planned_count from campaign')).toEqual(['0']);
  await dueCampaign(own.db, tenant);
  await claimOne(own.db); // not frozen yet
  expect(await closeCampaigns(own.db)).toHaveLength(1);
  expect(await states(own.db)).toEqual(['sent 4', 'sending 2']);
});

test('a heartbeat writes once in its time, and only while the campaign is being sent', async () => {
  const id = await started(1);
  const beat = () => heartbeatCampaign(own.db, { campaignId: id, everySeconds: 60 });
  const at = async () => (await columnOf(own.db, 'select claimed_at::text from campaign'))[0];
  const first = await at();
  await beat();
  expect(await at()).toBe(first);
  await own.db.$client.query(`update campaign set claimed_at = clock_timestamp() - interval '61 seconds'`);
  await beat();
  expect(String(await at()) > String(first)).toBe(true);
});
