import type { Tenant } from '@dueline/contracts';
import { insertTenant, insertUsers, type TestDb, testDb } from '@dueline/db/testing';
import { PermanentError } from '@dueline/kernel';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeCampaigns, getCampaignReport, getCampaignResult } from '../src/index.ts';
import { dueCampaign } from '../src/testing.ts';
import { claimOne, insertAudience, moveChunk, start } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const NONE = { accepted: 0, invalid: 0, refused: 0, unknown: 0, expired: 0, cancelled: 0, open: 0 };
const report = (campaignId: string, of = tenant) => getCampaignReport(own.db, of, { campaignId });

async function started(members?: number): Promise<string> {
  const audienceId =
    members === undefined
      ? undefined
      : await insertAudience(own.db, tenant, await insertUsers(own.db, tenant, members));
  const { id } = await dueCampaign(own.db, tenant, audienceId === undefined ? {} : { audienceId });
  expect(await start(own.db, await claimOne(own.db))).toBe('frozen');
  return id;
}

const end = async (chunk: number, ...[to, reason]: [Parameters<typeof moveChunk>[1]['to'], string?]) => {
  if (to !== 'expired') await moveChunk(own.db, { chunk, to: 'sending' });
  await moveChunk(own.db, { chunk, to, reason });
};

test('what came of a campaign is told at any moment: its people and requests by their end, and why', async () => {
  const id = await started(1_750);
  expect(await report(id)).toMatchObject({ standing: 'sending', people: { ...NONE, open: 1_750 } });
  await end(0, 'accepted');
  await moveChunk(own.db, { chunk: 1, to: 'sending' });
  expect(await report(id)).toMatchObject({ people: { ...NONE, accepted: 500, open: 1_250 }, requests: { open: 3 } });
  await moveChunk(own.db, { chunk: 1, to: 'refused', reason: 'too_large' });
  await end(2, 'expired', 'too_late');
  await end(3, 'refused', 'invalid_recipient');
  await closeCampaigns(own.db);
  expect(await report(id)).toMatchObject({
    standing: 'needs_attention',
    people: { ...NONE, accepted: 500, refused: 500, expired: 500, invalid: 250 },
    requests: { ...NONE, accepted: 1, refused: 1, expired: 1, invalid: 1 },
    ends: [
      { end: 'accepted', reasonCode: null, requests: 1, people: 500 },
      { end: 'expired', reasonCode: 'too_late', requests: 1, people: 500 },
      { end: 'invalid', reasonCode: 'invalid_recipient', requests: 1, people: 250 },
      { end: 'refused', reasonCode: 'too_large', requests: 1, people: 500 },
    ],
  });
  expect(await getCampaignResult(own.db, { campaignId: id })).toEqual((await report(id))?.people);
});

test('a broadcast is told in requests: its people LINE alone knows', async () => {
  const id = await started();
  await end(0, 'accepted');
  await closeCampaigns(own.db);
  expect(await report(id)).toMatchObject({ standing: 'sent', people: null, requests: { ...NONE, accepted: 1 } });
  expect(await getCampaignResult(own.db, { campaignId: id })).toBeUndefined();
});

test('before the freeze there is nothing to tell but how it stands', async () => {
  const { id } = await dueCampaign(own.db, tenant);
  expect(await report(id)).toEqual({
    ...{ standing: 'scheduled', people: null, requests: NONE, ends: [], firstAttemptAt: null, lastAcceptedAt: null },
  });
});

test.for([
  ['stopped', 'update line_oa set stopped_at = app_now()'],
  ['stopped', 'update organization set stopped_at = app_now()'],
  ['paused_quota', "update line_oa set status = 'paused_quota'"],
])('a campaign that is under way says that it is %s: %s', async ([standing, statement]) => {
  const id = await started(1);
  await own.db.$client.query(String(statement));
  expect(await report(id)).toMatchObject({ standing });
});

test('no account sees the campaign of another, and what is no id is refused', async () => {
  const id = await started(1);
  expect(await report(id, await insertTenant(own.db))).toBeUndefined();
  await expect(report('spring')).rejects.toBeInstanceOf(PermanentError);
});
