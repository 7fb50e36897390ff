import { dueCampaign } from '@dueline/campaigns/testing';
import { columnOf, insertTenant, testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { reapDeadCampaigns } from '../src/reap-campaigns.ts';

test('of a campaign whose last instant passed before it began a person is told, once', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await insertTenant(db);
  const { id } = await dueCampaign(db, tenant, { notAfter: '2026-01-01T00:00:01Z' });
  const reaped: string[] = [];
  const onReaped = (what: string, count: number) => reaped.push(`${what} ${count}`);
  const reap = reapDeadCampaigns({ db, claimedBy: 'd:1', staleSeconds: 900, onReaped });
  await reap();
  await reap();
  expect(reaped).toEqual(['too_late 1']);
  expect(
    await columnOf(db, `select concat_ws(' ', kind, ref_id, reason_code, line_oa_id) from attention_item`),
  ).toEqual([`campaign_not_sent ${id} too_late ${tenant.lineOaId}`]);
});
