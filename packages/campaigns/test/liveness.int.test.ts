import { insertTenant, testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { campaignLiveness, claimCampaigns } from '../src/index.ts';
import { dueCampaign } from '../src/testing.ts';

test('how late the oldest campaign is and how silent the most silent one is told; of a stopped account none is late', async () => {
  await using own = await testDb();
  const tenant = await insertTenant(own.db);
  expect(await campaignLiveness(own.db)).toEqual({ oldestDueSeconds: 0, sending: 0, silentSeconds: 0 });

  await dueCampaign(own.db, tenant, { startDate: new Date(Date.now() - 100_000).toISOString() });
  const waiting = await campaignLiveness(own.db);
  expect(waiting).toEqual({ oldestDueSeconds: expect.any(Number), sending: 0, silentSeconds: 0 });
  expect(waiting.oldestDueSeconds).toBeGreaterThanOrEqual(100);
  await own.db.$client.query('update line_oa set stopped_at = app_now()');
  expect(await campaignLiveness(own.db)).toMatchObject({ oldestDueSeconds: 0 });

  await own.db.$client.query('update line_oa set stopped_at = null');
  await claimCampaigns(own.db, { claimedBy: 'd:1', limit: 1 });
  await own.db.$client.query(`update campaign set claimed_at = clock_timestamp() - interval '50 seconds'`);
  const sending = await campaignLiveness(own.db);
  expect(sending).toMatchObject({ oldestDueSeconds: 0, sending: 1 });
  expect(sending.silentSeconds).toBeGreaterThanOrEqual(50);
});
