import type { Tenant } from '@dueline/contracts';
import { inTenant } from '@dueline/db';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type LocalStart, previewCampaign, sendCampaignNow, startAtLocalTime } from '../src/index.ts';
import { dueCampaign } from '../src/testing.ts';
import { claim, states } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  await setZone('Asia/Tokyo');
});
afterEach(() => own[Symbol.asyncDispose]());

const setZone = (zone: string) => own.db.$client.query('update line_oa set timezone = $1', [zone]);
const startAt = (campaign: { id: string; fence: string }, start: LocalStart) =>
  inTenant(own.db, tenant, (tx) => startAtLocalTime(tx, { campaign, ...start }));
const kept = () =>
  columnOf(
    own.db,
    `select concat_ws(' ', start_local, start_zone, to_char(start_date at time zone 'UTC', 'YYYY-MM-DD HH24:MI')) from campaign order by id`,
  );

test.for([
  ['2999-12-24T18:00', undefined, '2999-12-24 09:00'],
  ['2999-12-24T18:00', 'Asia/Bangkok', '2999-12-24 11:00'],
  ['2027-03-28T02:30', 'Europe/Berlin', '2027-03-28 01:30'], // the clock goes from 02:00 to 03:00: it is 03:30 there
  ['2027-10-31T02:30', 'Europe/Berlin', '2027-10-31 01:30'], // shown twice, at 00:30 and 01:30 UTC
  ['2027-10-03T02:15', 'Australia/Lord_Howe', '2027-10-02 15:45'], // half an hour is skipped
  ['2027-10-31T02:30', 'UTC', '2027-10-31 02:30'],
] as const)('a start at %s, zone %s, is %s UTC, and is kept as it was given', async ([local, zone, utc]) => {
  const campaign = await dueCampaign(own.db, tenant, { startDate: '2999-01-01T00:00:00Z' });
  const scheduled = await startAt(campaign, { local, ...(zone !== undefined && { zone }) });
  expect(scheduled).toMatchObject({ id: campaign.id, fence: '2' });
  expect(Date.parse(scheduled?.startDate ?? '')).toBe(Date.parse(`${utc.replace(' ', 'T')}Z`));
  expect(await kept()).toEqual([[local, zone, utc].filter((part) => part !== undefined).join(' ')]);
});

test('a start in the account’s zone moves with the zone, one in a zone of its own and one of an instant do not; what was seen before is stale', async () => {
  const [byAccount, byZone] = [await dueCampaign(own.db, tenant), await dueCampaign(own.db, tenant)];
  await dueCampaign(own.db, tenant, { startDate: '2999-12-24T09:00:00Z' });
  const seen = await startAt(byAccount, { local: '2999-12-24T18:00' });
  await startAt(byZone, { local: '2999-12-24T18:00', zone: 'Asia/Tokyo' });
  await setZone('Asia/Bangkok');
  expect(await kept()).toEqual([
    ...['2999-12-24T18:00 2999-12-24 11:00', '2999-12-24T18:00 Asia/Tokyo 2999-12-24 09:00', '2999-12-24 09:00'],
  ]);
  expect(await states(own.db)).toEqual(['scheduled 3', 'scheduled 2', 'scheduled 1']);
  expect(seen && (await startAt(seen, { local: '2999-12-25T18:00' }))).toBeUndefined();
});

test('a start that is past in the account’s new zone is due at once', async () => {
  const campaign = await dueCampaign(own.db, tenant, { startDate: '2999-01-01T00:00:00Z' });
  const [soon] = await columnOf(
    own.db,
    `select to_char((app_now() + interval '1 hour') at time zone 'Asia/Tokyo', 'YYYY-MM-DD"T"HH24:MI')`,
  );
  await startAt(campaign, { local: String(soon) });
  expect(await claim(own.db)).toEqual([]);
  await setZone('Pacific/Auckland'); // its clock is three or four hours ahead
  expect(await claim(own.db)).toHaveLength(1);
});

test('a campaign that was begun keeps its start when the zone changes', async () => {
  const campaign = await dueCampaign(own.db, tenant);
  await startAt(campaign, { local: '2026-01-01T09:00' });
  await claim(own.db);
  await setZone('Asia/Bangkok');
  expect(await kept()).toEqual(['2026-01-01T09:00 2026-01-01 00:00']);
});

test('whoever gives an instant instead takes the local time back', async () => {
  const campaign = await dueCampaign(own.db, tenant);
  const scheduled = await startAt(campaign, { local: '2999-12-24T18:00' });
  const seen = { campaign: scheduled ?? campaign, by: 'me' };
  const { token } = (await previewCampaign(own.db, tenant, seen)) ?? {};
  await inTenant(own.db, tenant, (tx) => sendCampaignNow(tx, { ...seen, token: token ?? 'none' }));
  expect(await columnOf(own.db, 'select start_local from campaign')).toEqual([null]);
  await setZone('Asia/Bangkok');
  expect(await claim(own.db)).toHaveLength(1);
});

test.for([
  [{ local: '2999-02-29T18:00' }, 'start is invalid at /local: there is no such day'],
  [{ local: '2999-12-24 18:00' }, 'start is invalid at /local: a local time is YYYY-MM-DDTHH:MM'],
  [{ local: '2999-12-24T18:00Z' }, 'start is invalid at /local: a local time is YYYY-MM-DDTHH:MM'],
  [{ local: '2999-12-24T18:00', zone: 'GMT+7' }, 'start is invalid at /zone: no zone has this name'],
  [{ local: '2999-12-24T18:00', zone: 'Asia/Atlantis' }, 'start is invalid at /zone: no zone has this name'],
  [{ local: '2999-12-24T18:00' }, 'start is invalid at /local: must be before notAfter'],
] as const)('a start %j is refused: %s', async ([start, message]) => {
  const campaign = await dueCampaign(own.db, tenant, { notAfter: '2999-12-24T09:00:00Z' });
  await expect(startAt(campaign, start)).rejects.toThrow(message);
  expect(await states(own.db)).toEqual(['scheduled 1']);
});
