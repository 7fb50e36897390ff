import { claimCampaigns, previewCampaign } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { campaignsOf } from './campaigns-support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const claim = () => claimCampaigns(own.db, { claimedBy: 'd:1', limit: 10 });

test('a campaign that a person sends now is due at once under the fence that was seen, and who did it is written down', async () => {
  const { id } = await dueCampaign(own.db, tenant, { startDate: '2999-01-01T00:00:00Z' });
  const seen = async () => {
    const fence = String(await columnOf(own.db, 'select fence from campaign'));
    const { token } = (await previewCampaign(own.db, tenant, { campaign: { id, fence }, by: 'mika' })) ?? {};
    return token ?? 'none';
  };
  const sendNow = async (...args: string[]) => campaignsOf(own)('send-now', id, '--confirm', await seen(), ...args);
  expect(await campaignsOf(own)('send-now', id)).toMatchObject({ code: 2 });
  expect(await sendNow('--fence', '0')).toMatchObject({
    code: 1,
    out: `campaign ${id}: it has changed, or has begun: look again`,
  });
  expect(await claim()).toEqual([]);
  expect(await sendNow('--why', 'the shop opens')).toMatchObject({ code: 0, out: `campaign ${id}: starts now` });
  expect(await claim()).toHaveLength(1);
  expect(await sendNow()).toMatchObject({ code: 1 });
  const deeds = `select concat_ws(' ', operation, before ->> 'status', after ->> 'status', done_by, reason) from audit_log`;
  expect(await columnOf(own.db, deeds)).toEqual(['campaign_send_now scheduled scheduled mika the shop opens']);
});

test('the pace of a campaign is set in people a minute, and taken back, by a person who is written down', async () => {
  const { id } = await dueCampaign(own.db, tenant, { startDate: '2999-01-01T00:00:00Z' });
  const pace = (...args: string[]) => campaignsOf(own)('pace', id, ...args);
  const kept = () => columnOf(own.db, 'select max_per_minute from campaign');
  expect(await pace('--per-minute', '600')).toMatchObject({
    code: 0,
    out: `campaign ${id}: up to 600 people a minute`,
  });
  expect(await kept()).toEqual(['600']);
  expect(await pace('--per-minute', 'none')).toMatchObject({ code: 0 });
  expect(await kept()).toEqual([null]);
  expect(await pace('--per-minute', '0.5')).toMatchObject({
    code: 2,
    error: expect.stringContaining('a whole number'),
  });
  expect(await pace('--per-minute', '600', '--fence', '0')).toMatchObject({ code: 1 });
  expect(await columnOf(own.db, `select distinct operation from audit_log`)).toEqual(['campaign_pace']);
});

test('a campaign is scheduled by a clock on the wall, in the zone that is named, by a person who is written down', async () => {
  const { id } = await dueCampaign(own.db, tenant);
  const at = (...args: string[]) => campaignsOf(own)('local-time', id, ...args);
  const { code, out } = await at('--at', '2999-12-24T18:00', '--zone', 'Asia/Bangkok');
  expect(code).toBe(0);
  expect(Date.parse(out.replace(/^.* starts at /, ''))).toBe(Date.parse('2999-12-24T11:00:00Z'));
  expect(await at()).toMatchObject({ code: 2, error: expect.stringContaining('--at') });
  expect(await at('--at', '2999-12-24T18:00', '--zone', 'GMT+7')).toMatchObject({
    code: 1,
    error: expect.stringContaining('/zone'),
  });
  expect(await at('--at', '2999-12-24T18:00', '--fence', '0')).toMatchObject({ code: 1 });
  expect(await columnOf(own.db, `select concat(operation, ' ', after ->> 'zone') from audit_log`)).toEqual([
    'campaign_local_time Asia/Bangkok',
  ]);
});
