import type { Tenant, Ticket } from '@dueline/contracts';
import {
  columnOf,
  insertTenant,
  insertUsers,
  lineUserId,
  moveProductTime,
  type TestDb,
  testDb,
} from '@dueline/db/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type CampaignDraft, createCampaign, previewCampaign, scheduleCampaign } from '../src/index.ts';
import { toleratedDrift } from '../src/preview.ts';
import { insertAudience, join, states } from './support.ts';

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

const by = '店長';
const startDate = '2030-01-01T09:00:00+09:00';
const draftOf = (audienceId: string, exclude?: { audienceIds?: string[]; userIds?: string[] }): CampaignDraft => ({
  ...{ name: '春のセール 🌸', castType: 'multicast', audienceId },
  ...{ messages: [{ type: 'text', text: 'こんにちは 🎉' }] },
  ...(exclude && { exclude }),
});
const look = (campaign: Ticket, whose = tenant) => previewCampaign(own.db, whose, { campaign, by });
const schedule = (campaign: Ticket, token: string, whose = tenant) =>
  scheduleCampaign(own.db, whose, { campaign, token, by, startDate });

/** A draft to so many people, with its audience and the token of a preview. */
async function seen(count: number) {
  const userIds = await insertUsers(own.db, tenant, count);
  const audienceId = await insertAudience(own.db, tenant, userIds);
  const campaign = await createCampaign(own.db, tenant, draftOf(audienceId));
  const preview = await look(campaign);
  return { userIds, audienceId, campaign, token: preview?.token ?? '', preview };
}
const leave = (userIds: readonly string[]) =>
  own.db.$client.query('delete from audience_member where user_id = any($1)', [userIds]);

test('a preview counts friends in the audience but those left out, requests, and messages of the month', async () => {
  const userIds = await insertUsers(own.db, tenant, 1_300);
  const audienceId = await insertAudience(own.db, tenant, userIds.slice(0, 1_260));
  const left = await insertAudience(own.db, tenant, userIds.slice(0, 5));
  const also = await insertAudience(own.db, tenant, userIds.slice(3, 8)); // two of them twice
  await own.db.$client.query('update line_user set is_following = false where user_id = $1', [lineUserId(1_250)]);
  await own.db.$client.query(
    `insert into month_quota (line_oa_id, organization_id, quota, used, told_at) values ($1, $2, 2000, 300, app_now())`,
    [tenant.lineOaId, tenant.organizationId],
  );
  const exclude = { audienceIds: [left, also], userIds: [lineUserId(8), lineUserId(9), `U${'f'.repeat(32)}`] };
  const campaign = await createCampaign(own.db, tenant, draftOf(audienceId, exclude));
  expect(await look(campaign)).toEqual({
    ...{ campaign, people: 1_250, excluded: 9, requests: 3, messages: 1_250 },
    month: { known: 'left', left: 1_700, toldAt: expect.any(String) },
    token: expect.stringMatching(/^[0-9a-f]{32}$/),
    confirmUntil: expect.any(String),
  });
  expect(await states(own.db)).toEqual(['draft 0']);
});

test('of a broadcast LINE alone knows the people: the friends that we know are the least that it uses', async () => {
  await insertUsers(own.db, tenant, 3);
  await own.db.$client.query('update line_user set is_following = false where user_id = $1', [lineUserId(2)]);
  const campaign = await createCampaign(own.db, tenant, {
    ...{ name: 'all', castType: 'broadcast', messages: [{ type: 'text', text: 'x' }] },
  });
  const preview = await look(campaign);
  expect(preview).toMatchObject({ people: null, excluded: 0, requests: 1, messages: 2, month: { known: 'unknown' } });
  expect(await schedule(campaign, preview?.token ?? '')).toEqual({ id: campaign.id, fence: '1' });
  expect(await columnOf(own.db, 'select confirmed_count from campaign')).toEqual([null]);
});

test.for<[string, string]>([
  ['told two hours ago', "app_now() - interval '2 hours'"],
  [
    'told of the month before',
    "date_trunc('month', app_now() at time zone 'Asia/Tokyo') at time zone 'Asia/Tokyo' - interval '1 second'",
  ],
])('what LINE %s of the month is not known any more', async ([, at]) => {
  await own.db.$client.query(
    `insert into month_quota (line_oa_id, organization_id, quota, used, told_at) select $1, $2, 10, 3, ${at}`,
    [tenant.lineOaId, tenant.organizationId],
  );
  expect((await seen(1)).preview?.month).toEqual({ known: 'unknown' });
});

test('a campaign for nobody has a preview of 0 and nothing to confirm, and cannot be scheduled', async () => {
  const campaign = await createCampaign(own.db, tenant, draftOf(await insertAudience(own.db, tenant, [])));
  expect(await look(campaign)).toMatchObject({ people: 0, requests: 0, messages: 0, token: null, confirmUntil: null });
  await expect(schedule(campaign, '')).rejects.toThrow('no preview of this account has this token');
  expect(await states(own.db)).toEqual(['draft 0']);
});

test('a campaign is scheduled for as many as its author saw, once for each preview', async () => {
  const { campaign, token } = await seen(3);
  const scheduled = await schedule(campaign, token);
  expect(scheduled).toEqual({ id: campaign.id, fence: '1' });
  expect(await columnOf(own.db, 'select confirmed_count from campaign')).toEqual(['3']);
  expect(await columnOf(own.db, 'select concat_ws(chr(32), previewed_by, confirmed_by) from campaign_preview')).toEqual(
    ['店長 店長'],
  );
  await expect(schedule(scheduled ?? campaign, token)).rejects.toThrow('confirmed before');
  expect(await states(own.db)).toEqual(['scheduled 1']);
});

test('of ten who confirm the same preview at once one schedules', async () => {
  const { campaign, token } = await seen(1);
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => schedule(campaign, token)));
  expect(results.filter((result) => result.status === 'fulfilled' && result.value !== undefined)).toHaveLength(1);
  expect(await states(own.db)).toEqual(['scheduled 1']);
});

test('the database keeps no token that would confirm anything', async () => {
  const { token } = await seen(1);
  expect(token).toHaveLength(32);
  expect(await columnOf(own.db, 'select campaign_preview::text from campaign_preview')).not.toContain(
    expect.stringContaining(token),
  );
});

test.for<[string, (campaign: Ticket) => string]>([
  ['other messages', () => `update campaign set messages = '[{"type": "text", "text": "y"}]'`],
  ['somebody more left out', () => `update campaign set excluded_user_ids = '{U${'0'.repeat(31)}1}'`],
  ['another audience', () => 'update campaign set audience_id = (select max(id) from audience)'],
])('a preview confirms nothing once there are %s', async ([, change]) => {
  const { campaign, token, userIds } = await seen(3);
  await insertAudience(own.db, tenant, userIds);
  await own.db.$client.query(change(campaign));
  await expect(schedule(campaign, token)).rejects.toThrow('the campaign has changed since the preview; look again');
  expect(await states(own.db)).toEqual(['draft 0']);
});

test('a preview from before another schedule confirms nothing', async () => {
  const { campaign, token } = await seen(3);
  const second = await look(campaign);
  const scheduled = await schedule(campaign, token);
  if (scheduled === undefined || second?.token == null) throw new Error('unreachable');
  await expect(schedule(scheduled, second.token)).rejects.toThrow('the campaign has changed since the preview');
});

test('a preview is good for a quarter of an hour', async () => {
  const { campaign, token } = await seen(1);
  await moveProductTime(own.db, 15 * 60 + 1);
  await expect(schedule(campaign, token)).rejects.toThrow('the preview is too old; look again');
});

test('a token is good for its own campaign and its own account', async () => {
  const { campaign, token, audienceId } = await seen(1);
  const sibling = await createCampaign(own.db, tenant, draftOf(audienceId));
  await expect(schedule(sibling, token)).rejects.toThrow(
    `the preview was of campaign ${campaign.id}, not of ${sibling.id}`,
  );
  const other = await insertTenant(own.db);
  const theirs = await createCampaign(own.db, other, {
    ...{ name: 'x', castType: 'broadcast', messages: [{ type: 'text', text: 'x' }] },
  });
  await expect(schedule(theirs, token, other)).rejects.toThrow('no preview of this account has this token');
  expect(await schedule(campaign, token, other)).toBeUndefined();
  expect(await look(campaign, other)).toBeUndefined();
});

test.for<[number, number, 'more' | 'fewer', boolean]>([
  [100, 5, 'more', true],
  [100, 6, 'more', false],
  [100, 5, 'fewer', true],
  [100, 6, 'fewer', false],
  [19, 1, 'more', false],
  [19, 1, 'fewer', false],
  [20, 1, 'more', true],
])('of %i people seen, %i %s: confirmed is %s', async ([shown, drift, way, isGood]) => {
  const { campaign, token, userIds, audienceId } = await seen(shown);
  const now = way === 'more' ? shown + drift : shown - drift;
  if (way === 'fewer') await leave(userIds.slice(0, drift));
  else {
    const more = Array.from({ length: drift }, (_, n) => lineUserId(10_000 + n));
    await own.db.$client.query(
      'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
      [tenant.organizationId, tenant.lineOaId, more],
    );
    await join(own.db, { audienceId, userIds: more });
  }
  if (isGood) expect(await schedule(campaign, token)).toBeDefined();
  else
    await expect(schedule(campaign, token)).rejects.toThrow(
      `there were ${shown} people at the preview and are ${now} now, which is more than 5 % off; look again`,
    );
  expect(toleratedDrift(shown)).toBe(shown === 19 ? 0 : shown === 20 ? 1 : 5);
});

test('everybody left since the preview: refused with the numbers', async () => {
  const { campaign, token, userIds } = await seen(2);
  await leave(userIds);
  await expect(schedule(campaign, token)).rejects.toThrow('nobody would be reached any more: there were 2 people');
});

test('a campaign that is frozen, deleted or being sent has no preview', async () => {
  const { campaign } = await seen(1);
  await own.db.$client.query('update campaign set deleted_date = app_now()');
  expect(await look(campaign)).toBeUndefined();
});
