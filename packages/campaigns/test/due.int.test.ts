import type { Tenant } from '@dueline/contracts';
import { inTenant, listen, openDatabase } from '@dueline/db';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  CAMPAIGN_DUE_CHANNEL,
  campaignsDueWithin,
  createCampaign,
  previewCampaign,
  sendCampaignNow,
} from '../src/index.ts';
import { dueCampaign } from '../src/testing.ts';
import { claim, states } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const query = (text: string) => own.db.$client.query(text);
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

test('a look tells when each campaign that starts soon is due, and nothing of those that nobody may claim', async () => {
  const stopped = await insertTenant(own.db);
  await query(`update line_oa set stopped_at = app_now() where id = ${stopped.lineOaId}`);
  await dueCampaign(own.db, stopped);
  await dueCampaign(own.db, tenant, { startDate: inMs(1_500) });
  await dueCampaign(own.db, tenant, { startDate: inMs(60_000) });
  await dueCampaign(own.db, tenant, { notAfter: '2026-01-02T00:00:00Z' }); // fails, and is not claimed
  const overdue = await dueCampaign(own.db, tenant, { startDate: '2026-01-01T00:00:00Z' });
  const waits = await campaignsDueWithin(own.db, 2_000);
  expect(waits).toHaveLength(2);
  expect(waits[0]).toBeLessThan(-86_400_000);
  expect(waits[1]).toBeGreaterThan(0);
  expect(waits[1]).toBeLessThan(1_500);
  expect((await claim(own.db)).map(({ campaignId }) => campaignId)).toEqual([overdue.id]);
});

test('beside 100,000 campaigns of the future and the past, a look and a claim read the index of what is scheduled only', {
  timeout: 60_000,
}, async () => {
  await query(`insert into campaign (organization_id, line_oa_id, name, cast_type, status, start_date)
               select ${tenant.organizationId}, ${tenant.lineOaId}, 'n', 'broadcast', status, app_now() + n * interval '1 minute'
                 from generate_series(2, 50000) as n cross join (values ('scheduled'), ('draft')) as of (status)`);
  await dueCampaign(own.db, tenant);
  for (const setting of ['', 'analyze campaign']) {
    if (setting !== '') await query(setting);
    const plans = await plansOf(async (db) => {
      await campaignsDueWithin(db, 2_000);
      await claim(db);
    });
    expect(plans.match(/Index Scan using idx_campaign_scheduled/g), plans).toHaveLength(2);
    expect(plans).not.toMatch(/Seq Scan on campaign/);
    await query(`update campaign set status = 'scheduled', fence = fence + 1 where status = 'sending'`);
  }
});

async function plansOf(work: (db: TestDb['db']) => Promise<void>): Promise<string> {
  const database = openDatabase({ url: own.url, applicationName: 'test', maxConnections: 1, onError: () => undefined });
  const plans: string[] = [];
  database.db.$client.on('connect', (client) => client.on('notice', ({ message = '' }) => plans.push(message)));
  try {
    await database.db.$client.query(
      `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_level = 'notice'`,
    );
    await work(database.db);
  } finally {
    await database.close();
  }
  return plans.join('\n');
}

test('whoever listens hears of a campaign that is due, and of none that was given back because it could not be published', async () => {
  let hints = 0;
  const connected = Promise.withResolvers<void>();
  const listener = listen({
    url: own.url,
    channels: [CAMPAIGN_DUE_CHANNEL],
    onWake: (source) => {
      if (source === 'connected') connected.resolve();
      else hints += 1;
    },
    onLost: () => undefined,
  });
  onTestFinished(() => listener.close());
  await connected.promise;

  await dueCampaign(own.db, tenant, { startDate: '2999-01-01T00:00:00Z' });
  await dueCampaign(own.db, tenant);
  await expect.poll(() => hints).toBe(1);
  await claim(own.db);
  await query(`update campaign set status = 'scheduled', fence = fence + 1 where status = 'sending'`);
  await query(`update campaign set fence = fence + 1 where start_date > app_now()`);
  await query(`select pg_notify('${CAMPAIGN_DUE_CHANNEL}', '')`); // comes behind whatever was told before
  await expect.poll(() => hints).toBe(2);
});

const sendNow = async (campaign: { id: string; fence: string }, of = tenant) => {
  const { token } = (await previewCampaign(own.db, of, { campaign, by: 'me' })) ?? {};
  return inTenant(own.db, of, (tx) => sendCampaignNow(tx, { campaign, token: token ?? 'none', by: 'me' }));
};

test('a draft and a scheduled campaign that a person sends now are claimed at once, once, by the claim of all the others', async () => {
  const draft = await createCampaign(own.db, tenant, {
    name: 'now',
    castType: 'broadcast',
    messages: [{ type: 'text', text: 'now' }],
  });
  const scheduled = await dueCampaign(own.db, tenant, { startDate: '2999-01-01T00:00:00Z' });
  expect(await claim(own.db)).toEqual([]);
  const tickets = [await sendNow(draft), await sendNow(scheduled)];
  expect(tickets).toEqual([
    { id: draft.id, fence: '1' },
    { id: scheduled.id, fence: '2' },
  ]);
  const claimed = (await Promise.all([claim(own.db), claim(own.db), claim(own.db)])).flat();
  expect(claimed.map(({ campaignId }) => campaignId).sort()).toEqual([draft.id, scheduled.id]);
  expect(await columnOf(own.db, 'select start_date <= app_now() from campaign')).toEqual(['true', 'true']);
});

test('a campaign that somebody changed, started or ended meanwhile is not sent now', async () => {
  const campaign = await dueCampaign(own.db, tenant);
  expect(await sendNow({ ...campaign, fence: '0' })).toBeUndefined();
  const [ticket] = await claim(own.db);
  expect(await sendNow({ id: campaign.id, fence: ticket?.fence ?? '' })).toBeUndefined();
  expect(await sendNow(campaign, await insertTenant(own.db))).toBeUndefined();
  expect(await states(own.db)).toEqual(['sending 2']);
});
