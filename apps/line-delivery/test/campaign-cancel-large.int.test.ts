import { type CampaignResult, cancelCampaign, getCampaignResult, showCampaign } from '@dueline/campaigns';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, testDb } from '@dueline/db/testing';
import { cancelCampaignDeliveries, startDeliveries } from '@dueline/deliveries';
import { expect, test } from 'vitest';

const CHUNKS = 2_000;
const PEOPLE = 500 * CHUNKS;
/** A second is what it takes at most; a machine that has other things to do is given more. */
const ACKNOWLEDGED_WITHIN_MS = 5_000;

/** A campaign to a million, of which 600 chunks were accepted; the audience itself does not matter any more. */
const MILLION = `
  with campaign as (
    insert into campaign (organization_id, line_oa_id, name, cast_type, audience_id, status, start_date, claimed_at, claimed_by, frozen_at, planned_count)
    select organization_id, line_oa_id, 'all', 'multicast', id, 'sending', app_now(), clock_timestamp(), 'd:1', app_now(), ${PEOPLE} from audience
    returning id, organization_id, line_oa_id
  ), chunk as (
    insert into campaign_chunk (campaign_id, chunk_no, organization_id, line_oa_id, user_ids, user_count)
    select campaign.id, chunk_no, organization_id, line_oa_id,
           array(select 'U' || lpad(to_hex(chunk_no * 500 + place), 32, '0') from generate_series(0, 499) as place), 500
      from campaign cross join generate_series(0, ${CHUNKS - 1}) as chunk_no
    returning *
  )
  insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, ordinal, campaign_id, chunk_no, retry_key, body, body_sha256,
                        deliver_until, status, accepted_at, first_attempt_at)
  select organization_id, line_oa_id, 'campaign', campaign_id, 'multicast', chunk_no, campaign_id, chunk_no, gen_random_uuid(),
         json_build_object('to', user_ids)::text, '', app_now() + interval '1 day',
         case when chunk_no < 600 then 'accepted' else 'planned' end, case when chunk_no < 600 then app_now() end,
         case when chunk_no < 600 then app_now() end
    from chunk`;

test('a cancel in the middle of a million people is acknowledged within a second, nothing starts after it, and the counts add up [T23]', {
  timeout: 120_000,
}, async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await insertTenant(db);
  await db.$client.query(`insert into audience (organization_id, line_oa_id, name) values ($1, $2, 'all')`, [
    ...[tenant.organizationId, tenant.lineOaId],
  ]);
  await db.$client.query('set statement_timeout = 0');
  await db.$client.query(MILLION);
  const [id = ''] = (await columnOf(db, 'select id from campaign')).map(String);
  const { rows: tickets } = await db.$client.query<{ id: string; fence: string }>(
    `select id, fence from delivery where status = 'planned' order by id`,
  );
  const start = { claimedBy: 'line-delivery/test:1', leaseSeconds: 60, settleSeconds: 0 };
  const startSome = (from: number, to: number) =>
    startDeliveries(db, tenant, { tickets: tickets.slice(from, to), start });
  expect(await startSome(0, 5)).toHaveLength(5);

  const campaign = await showCampaign(db, tenant, id);
  if (campaign === undefined) throw new Error('there is no campaign');
  const begun = performance.now();
  const [outcome, ...raced] = await Promise.all([
    inTransaction(db, (tx) => cancelCampaign(tx, tenant, { campaign, stopDeliveries: cancelCampaignDeliveries })),
    ...[5, 10, 15].map((from) => startSome(from, from + 5)), // before the cancel, or not at all
  ]);
  const ms = performance.now() - begun;
  expect(ms).toBeLessThan(ACKNOWLEDGED_WITHIN_MS);
  const atLine = 5 + raced.flat().length;
  expect(outcome).toMatchObject({ result: 'changed', status: 'paused', inFlight: atLine });
  expect(await startSome(20, 1_400)).toEqual([]);

  const result = await getCampaignResult(db, { campaignId: id });
  expect(result).toMatchObject({ accepted: 300_000, open: atLine * 500, cancelled: PEOPLE - 300_000 - atLine * 500 });
  const people = Object.values(result ?? ({} as CampaignResult)).reduce((sum, count) => sum + count, 0);
  expect(people).toBe(PEOPLE);
});
