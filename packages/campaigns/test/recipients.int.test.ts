import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type CampaignDraft, createCampaign } from '../src/index.ts';
import { dueCampaign, scheduleAsSeen } from '../src/testing.ts';
import { claimOne, insertAudience, join, start, states } from './support.ts';

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

const reached = () => columnOf(own.db, 'select unnest(user_ids) from campaign_chunk order by 1');
const users = (...numbers: number[]) => numbers.map(lineUserId);
const unfollow = (n: number) =>
  own.db.$client.query('update line_user set is_following = false where user_id = $1', [lineUserId(n)]);
const startAll = async () => start(own.db, await claimOne(own.db));

test('who is in an excluded audience or named is left out, whether in the audience or not, and everybody else is reached once', async () => {
  const all = await insertUsers(own.db, tenant, 8);
  const audienceId = await insertAudience(own.db, tenant, all.slice(0, 7));
  const some = await insertAudience(own.db, tenant, users(2, 3, 8));
  const others = await insertAudience(own.db, tenant, users(3, 4));
  const exclude = { audienceIds: [some, others], userIds: [lineUserId(6), lineUserId(6), `U${'f'.repeat(32)}`] };
  await dueCampaign(own.db, tenant, { audienceId, exclude });
  expect(await startAll()).toBe('frozen');
  expect(await reached()).toEqual(users(1, 5, 7));
  expect(await columnOf(own.db, 'select planned_count from campaign')).toEqual(['3']);
});

test('exclusions hold beyond a page of the freeze', async () => {
  const all = await insertUsers(own.db, tenant, 20_600);
  const audienceId = await insertAudience(own.db, tenant, all);
  const left = await insertAudience(
    own.db,
    tenant,
    all.filter((_, n) => n % 100 === 0),
  );
  await dueCampaign(own.db, tenant, { audienceId, exclude: { audienceIds: [left] } });
  await start(own.db, await claimOne(own.db), { planChunks: async () => undefined });
  expect(
    await columnOf(
      own.db,
      `select concat_ws(' ', count(*), count(distinct u), count(*) filter (where u in (select user_id from audience_member where audience_id = ${left})))
         from campaign_chunk cross join unnest(user_ids) as u`,
    ),
  ).toEqual(['20394 20394 0']);
});

test('who is excluded is frozen at the start: joining the excluded audience before it keeps out, after it no more', async () => {
  const all = await insertUsers(own.db, tenant, 40);
  const audienceId = await insertAudience(own.db, tenant, all);
  const left = await insertAudience(own.db, tenant, []);
  await dueCampaign(own.db, tenant, { audienceId, exclude: { audienceIds: [left] } });
  await join(own.db, { audienceId: left, userIds: users(1) });
  await startAll();
  await join(own.db, { audienceId: left, userIds: users(2) });
  expect(await reached()).toEqual(all.slice(1));
});

test('an excluded audience that was deleted since still keeps its people out', async () => {
  const audienceId = await insertAudience(own.db, tenant, await insertUsers(own.db, tenant, 2));
  const left = await insertAudience(own.db, tenant, users(1));
  await dueCampaign(own.db, tenant, { audienceId, exclude: { audienceIds: [left] } });
  await own.db.$client.query('update audience set deleted_date = app_now() where id = $1', [left]);
  await startAll();
  expect(await reached()).toEqual(users(2));
});

test('who unfollows between the preview and the freeze is not reached, who joins between them is, and who does either later changes nothing', async () => {
  const all = await insertUsers(own.db, tenant, 42);
  const audienceId = await insertAudience(own.db, tenant, all.slice(0, 40));
  await dueCampaign(own.db, tenant, { audienceId });
  await unfollow(1);
  await unfollow(2);
  await unfollow(3);
  await join(own.db, { audienceId, userIds: users(41) });
  expect(await startAll()).toBe('frozen');
  await unfollow(4);
  await join(own.db, { audienceId, userIds: users(42) });
  expect(await reached()).toEqual(all.slice(3, 41));
  expect(
    await columnOf(
      own.db,
      "select concat_ws(' ', confirmed_count, planned_count, start_check ->> 'people') from campaign",
    ),
  ).toEqual(['40 38 38']);
});

test('people of another account are neither reached nor do they keep anybody out', async () => {
  const other = await insertTenant(own.db);
  await insertUsers(own.db, other, 3);
  const theirs = await insertAudience(own.db, other, users(1));
  const all = await insertUsers(own.db, tenant, 2);
  const audienceId = await insertAudience(own.db, tenant, all);
  const messages = [{ type: 'text' as const, text: 'x' }];
  const exclude = { audienceIds: [theirs] };
  await expect(
    createCampaign(own.db, tenant, { name: 'x', castType: 'multicast', audienceId, messages, exclude }),
  ).rejects.toThrow(`/exclude/audienceIds: no such audience: ${theirs}`);
  // past the check: what another account's audience says is not read
  await dueCampaign(own.db, tenant, { audienceId });
  await own.db.$client.query('update campaign set excluded_audience_ids = $1', [[theirs]]);
  await startAll();
  expect(await reached()).toEqual(all);
});

test.for<[string, unknown]>([
  ['/exclude: a broadcast goes to all friends', { castType: 'broadcast', exclude: { userIds: users(1) } }],
  ['/exclude: a broadcast goes to all friends', { castType: 'broadcast', exclude: {} }],
  ['/exclude/userIds/0', { castType: 'multicast', audienceId: '1', exclude: { userIds: ['山田'] } }],
  [
    '/exclude/userIds',
    { castType: 'multicast', audienceId: '1', exclude: { userIds: Array(1_001).fill(lineUserId(1)) } },
  ],
  ['/exclude/audienceIds', { castType: 'multicast', audienceId: '1', exclude: { audienceIds: Array(21).fill('1') } }],
  [
    '/exclude/audienceIds: no such audience: 4711',
    { castType: 'multicast', audienceId: '1', exclude: { audienceIds: ['4711'] } },
  ],
])('an exclusion is refused at %s', async ([where, part]) => {
  const draft = { name: 'x', messages: [{ type: 'text', text: 'x' }], ...(part as object) } as CampaignDraft;
  await expect(createCampaign(own.db, tenant, draft)).rejects.toThrow(`invalid at ${where}`);
  expect(await states(own.db)).toEqual([]);
});

const month = (quota: number | null, used: number) =>
  own.db.$client.query(
    `insert into month_quota (line_oa_id, organization_id, quota, used, told_at) values ($1, $2, $3, $4, app_now())`,
    [tenant.lineOaId, tenant.organizationId, quota, used],
  );
const seen = async () =>
  (await own.db.$client.query('select start_check from campaign order by id')).rows.map((row) => row.start_check);

test.for<[string, number | null, number, string, object]>([
  ['too few are left', 1_000, 998, 'needs_attention 3 quota_short', { needed: 3, left: 2, month: 'left' }],
  ['more are used than there are', 10, 12, 'needs_attention 3 quota_short', { needed: 3, left: 0, month: 'left' }],
  ['just enough are left', 1_000, 997, 'sending 3', { needed: 3, left: 3, month: 'left' }],
  ['LINE names no limit', null, 12, 'sending 3', { needed: 3, left: null, month: 'no_limit' }],
])(
  'when %s, a campaign to three starts or is held before anything is frozen, with the numbers',
  async ([, quota, used, state, check]) => {
    const audienceId = await insertAudience(own.db, tenant, await insertUsers(own.db, tenant, 3));
    await month(quota, used);
    await dueCampaign(own.db, tenant, { audienceId });
    await startAll();
    expect(await states(own.db)).toEqual([state]);
    expect(await seen()).toEqual([{ people: 3, confirmed: 3, ...check }]);
    const isHeld = state.startsWith('needs');
    expect(await reached()).toHaveLength(isHeld ? 0 : 3);
    expect(await columnOf(own.db, 'select count(*) from delivery')).toEqual([isHeld ? '0' : '1']);
  },
);

test('what nobody knows of the month holds no campaign, and the campaign says that it was not checked', async () => {
  const audienceId = await insertAudience(own.db, tenant, await insertUsers(own.db, tenant, 3));
  await dueCampaign(own.db, tenant, { audienceId });
  expect(await startAll()).toBe('frozen');
  expect(await seen()).toEqual([{ people: 3, confirmed: 3, needed: 3, left: null, month: 'unknown' }]);
});

test('a broadcast is held when the friends that we know are more than the messages that are left', async () => {
  await insertUsers(own.db, tenant, 3);
  await month(10, 8);
  await dueCampaign(own.db, tenant);
  expect(await startAll()).toBe('needs_attention');
  expect(await seen()).toEqual([{ people: null, confirmed: null, needed: 3, left: 2, month: 'left' }]);
});

test('a person who says so has it sent although the month is short', async () => {
  const audienceId = await insertAudience(own.db, tenant, await insertUsers(own.db, tenant, 3));
  await month(10, 8);
  await dueCampaign(own.db, tenant, { audienceId });
  expect(await startAll()).toBe('needs_attention');
  const [id = '', fence = ''] = await columnOf(own.db, 'select unnest(array[id, fence]) from campaign');
  const campaign = { id: String(id), fence: String(fence) };
  const startDate = '2026-01-01T00:00:00Z';
  await scheduleAsSeen(own.db, tenant, { campaign, startDate, ignoresQuota: true });
  expect(await startAll()).toBe('frozen');
  expect(await states(own.db)).toEqual(['sending 6']);
});

test('a campaign that goes on with what is left is not held for want of messages: who has it is not counted again', async () => {
  const audienceId = await insertAudience(own.db, tenant, await insertUsers(own.db, tenant, 3));
  await dueCampaign(own.db, tenant, { audienceId });
  await startAll();
  await month(10, 10);
  await own.db.$client.query(`update campaign set status = 'scheduled', fence = fence + 1`);
  expect(await startAll()).toBe('resumed');
  expect(await seen()).toMatchObject([{ month: 'unknown' }]);
});
