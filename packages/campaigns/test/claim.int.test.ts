import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, insertUsers, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import {
  claimCampaigns,
  currentTick,
  failLateCampaigns,
  reapCampaigns,
  recoverEarlierBoots,
  releaseCampaign,
} from '../src/index.ts';
import { dueCampaign } from '../src/testing.ts';
import { claim, claimOne, insertAudience, moveChunk, start, states } from './support.ts';

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

const STALE = { staleSeconds: 900 };
const age = (minutes: number) =>
  own.db.$client.query('update campaign set claimed_at = clock_timestamp() - make_interval(mins => $1)', [minutes]);

test('20 dispatchers at once claim each of 100 due campaigns once [SEM-082]', async () => {
  await Promise.all(Array.from({ length: 100 }, () => dueCampaign(own.db, tenant)));
  const claimed = await Promise.all(
    Array.from({ length: 20 }, (_, n) => claimCampaigns(own.db, { claimedBy: `dispatcher-${n}:boot`, limit: 30 })),
  );
  const rest = await claimCampaigns(own.db, { claimedBy: 'last:boot', limit: 200 });
  const ids = [...claimed.flat(), ...rest].map(({ ticket }) => ticket.campaignId);
  expect(ids).toHaveLength(100);
  expect(new Set(ids).size).toBe(100);
  expect(Math.max(...claimed.map((batch) => batch.length))).toBeLessThanOrEqual(30);
});

test('a claim tells where the ticket goes, and the seeds’ payload with its fence', async () => {
  const audienceId = await insertAudience(own.db, tenant, await insertUsers(own.db, tenant, 1));
  const multicast = await dueCampaign(own.db, tenant, { audienceId });
  const broadcast = await dueCampaign(own.db, tenant);
  const claimed = await claimCampaigns(own.db, { claimedBy: 'd:1', limit: 10 });
  expect(claimed).toMatchObject([
    { castType: 'multicast', ticket: { ...tenant, campaignId: multicast.id, audienceId, fence: '2' } },
    { castType: 'broadcast', ticket: { ...tenant, campaignId: broadcast.id, audienceId: null, fence: '2' } },
  ]);
});

test('a claim tells how late a campaign starts, and not of one that goes on', async () => {
  await dueCampaign(own.db, tenant, { startDate: new Date(Date.now() - 5_000).toISOString() });
  const late = async () =>
    (await claimCampaigns(own.db, { claimedBy: 'd:1', limit: 10 })).map((one) => one.lateSeconds);
  const [first = 0] = await late();
  expect(first).toBeGreaterThanOrEqual(5);
  expect(first).toBeLessThan(3_600);
  await own.db.$client.query(`update campaign set status = 'scheduled', fence = fence + 1, frozen_at = app_now()`);
  expect(await late()).toEqual([undefined]);
});

test('what is not due, too late, deleted or no longer scheduled is not claimed; what never started too late fails [SEM-039]', async () => {
  await dueCampaign(own.db, tenant, { startDate: '2999-01-01T00:00:00Z' });
  await dueCampaign(own.db, tenant, { notAfter: '2026-01-02T00:00:00Z' });
  const deleted = await dueCampaign(own.db, tenant);
  await own.db.$client.query('update campaign set deleted_date = app_now() where id = $1', [deleted.id]);
  expect(await claim(own.db)).toEqual([]);
  expect(await failLateCampaigns(own.db)).toHaveLength(1);
  expect(await states(own.db)).toEqual(['scheduled 1', 'failed 2 too_late', 'scheduled 1']);
});

test('a campaign that was frozen before is claimed after its last instant too: what LINE may have must be settled', async () => {
  await dueCampaign(own.db, tenant, { notAfter: new Date(Date.now() + 3_600_000).toISOString() });
  await start(own.db, await claimOne(own.db));
  await moveProductTime(own.db, 7_200);
  await age(16);
  expect(await reapCampaigns(own.db, STALE)).toBe(1);
  expect(await failLateCampaigns(own.db)).toEqual([]);
  expect(await claim(own.db)).toHaveLength(1);
});

test('a released campaign is due again at once, and neither its old ticket nor a second release moves it', async () => {
  await dueCampaign(own.db, tenant);
  const ticket = await claimOne(own.db);
  expect(await releaseCampaign(own.db, ticket)).toBe(true);
  expect(await states(own.db)).toEqual(['scheduled 3']);
  expect(await start(own.db, ticket)).toBeUndefined();
  const next = await claimOne(own.db);
  expect(await releaseCampaign(own.db, ticket)).toBe(false);
  expect(await start(own.db, next)).toBe('frozen');
  expect(await releaseCampaign(own.db, next)).toBe(false); // it was started
  expect(await states(own.db)).toEqual(['sending 5']);
});

test('the reaper takes back what gave no sign of life for its window, not sooner, and the ticket of the dead starts nothing', async () => {
  await dueCampaign(own.db, tenant);
  const ticket = await claimOne(own.db);
  await age(14);
  expect(await reapCampaigns(own.db, STALE)).toBe(0);
  await age(16);
  expect(await Promise.all([reapCampaigns(own.db, STALE), reapCampaigns(own.db, STALE)])).toContain(1);
  expect(await states(own.db)).toEqual(['scheduled 3']);
  expect(await start(own.db, ticket)).toBeUndefined();
});

test('the reaper leaves a campaign alone while one of its chunks is on its way [SEM-047]', async () => {
  await dueCampaign(own.db, tenant);
  await start(own.db, await claimOne(own.db));
  await moveChunk(own.db, { chunk: 0, to: 'sending' });
  await age(16);
  expect(await reapCampaigns(own.db, STALE)).toBe(0);
  await moveChunk(own.db, { chunk: 0, to: 'accepted' });
  expect(await reapCampaigns(own.db, STALE)).toBe(1);
});

test('a restarted dispatcher takes back what its earlier boot had claimed, and nothing that was started', async () => {
  const [userId = ''] = await insertUsers(own.db, tenant, 1);
  await dueCampaign(own.db, tenant, { audienceId: await insertAudience(own.db, tenant, [userId]) });
  await start(own.db, await claimOne(own.db));
  await dueCampaign(own.db, tenant);
  await claim(own.db, 'dispatcher-1:boot');
  await dueCampaign(own.db, tenant);
  await claim(own.db, 'dispatcher-2:boot');
  expect(await recoverEarlierBoots(own.db, { claimedBy: 'dispatcher-1:next' })).toBe(1);
  expect(await states(own.db)).toEqual(['sending 3', 'scheduled 3', 'sending 2']);
});

test.for(['line_oa', 'organization'])(
  'a campaign whose %s is stopped is not claimed, and is when it is resumed',
  async (stopped) => {
    await dueCampaign(own.db, tenant);
    await own.db.$client.query(`update ${stopped} set stopped_at = app_now()`);
    expect(await claim(own.db)).toEqual([]);
    await own.db.$client.query(`update ${stopped} set stopped_at = null`);
    expect(await claim(own.db)).toHaveLength(1);
  },
);

test('a tick is named by its UTC minute of product time and its key lives for 55 seconds', async () => {
  const before = await currentTick(own.db, { intervalSeconds: 60 });
  expect(before.key).toMatch(/^CAMPAIGN_SCHEDULE_TICK:\d{4}-\d\d-\d\dT\d\d:\d\d$/);
  expect(before.ttlMs).toBe(55_000);
  await moveProductTime(own.db, 60);
  const [minute] = await columnOf(own.db, `select to_char(app_now() at time zone 'UTC', 'HH24:MI')`);
  expect((await currentTick(own.db, { intervalSeconds: 60 })).key).not.toBe(before.key);
  expect((await currentTick(own.db, { intervalSeconds: 60 })).key.slice(-5)).toBe(minute);
  expect((await currentTick(own.db, { intervalSeconds: 2 })).key).toMatch(/:\d[02468]$/);
});
