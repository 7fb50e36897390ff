import {
  claimCampaigns,
  closeCampaigns,
  failLateCampaigns,
  getCampaignResult,
  reapCampaigns,
} from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import { closeOverdueDeliveries } from '@dueline/deliveries';
import { expect, test } from 'vitest';
import { audienceOf, claimOne, stage } from './campaign-stage.ts';

const PATIENCE = { timeout: 60_000 };
const HOUR = 3_600;
const inAnHour = () => new Date(Date.now() + HOUR * 1_000).toISOString();
const states = (db: Db) => columnOf(db, `select concat_ws(' ', status, reason_code) from campaign`);

test('an outage over the whole window of a campaign fails it with its reason, and reaches nobody', async () => {
  await using database = await testDb();
  const { db } = database;
  const { simulator, tenant, pass } = await stage(db);
  await dueCampaign(db, tenant, { notAfter: inAnHour() });
  await pass(HOUR); // nobody claimed it
  expect(await claimCampaigns(db, { claimedBy: 'd:1', limit: 1 })).toEqual([]);
  await failLateCampaigns(db);
  expect(await states(db)).toEqual(['failed too_late']);
  expect([...simulator.ledger.requests()]).toEqual([]);
});

test(
  'an outage in the middle of a campaign until after its last instant: what nothing has left of expires, what is in doubt is asked for',
  PATIENCE,
  async () => {
    await using database = await testDb();
    const { db } = database;
    const { simulator, tenant, published, start, send, pass, sendDue } = await stage(db);
    const { id } = await dueCampaign(db, tenant, {
      audienceId: await audienceOf(db, tenant, 1_250),
      notAfter: inAnHour(),
    });
    await start(await claimOne(db));
    const [first, second] = published.splice(0);
    await send(first === undefined ? [] : [first]);
    simulator.faults.set({
      rules: [{ id: 'F09', match: {}, max: 1, phase: 'afterAccept', effect: { type: 'reset' } }],
    });
    await send(second === undefined ? [] : [second]); // accepted, and nobody heard of it

    await pass(2 * HOUR); // every process was away
    await db.$client.query(`update campaign set claimed_at = clock_timestamp() - interval '16 minutes'`);
    await reapCampaigns(db, { staleSeconds: 900 });
    expect(await start(await claimOne(db))).toMatchObject({ detail: { result: 'resumed' } });
    await send(published);
    await inTransaction(db, closeOverdueDeliveries);
    await sendDue({ replicas: 2 });
    await closeCampaigns(db);

    expect(await columnOf(db, `select concat_ws(' ', status, reason_code) from delivery order by chunk_no`)).toEqual([
      ...['accepted', 'accepted', 'expired too_late'],
    ]);
    expect(await getCampaignResult(db, { campaignId: id })).toMatchObject({ accepted: 1_000, expired: 250, open: 0 });
    expect(await states(db)).toEqual(['needs_attention chunk_not_sent']);
    expect([...simulator.ledger.receipts()]).toHaveLength(1_000);
    expect([...simulator.ledger.accepts()]).toHaveLength(2);
  },
);

test(
  'every message about a campaign delivered twice, to two replicas at once: one key for each chunk, and each person once [T09]',
  PATIENCE,
  async () => {
    await using database = await testDb();
    const { db } = database;
    const { simulator, tenant, published, start, send, sendDue } = await stage(db);
    await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, 1_250) });
    const ticket = await claimOne(db);
    await Promise.all([start(ticket), start(ticket)]);
    await Promise.all([send(published), send(published)]);
    await Promise.all([start(ticket), start(ticket), send(published), send(published)]);
    await sendDue({ replicas: 2 });

    expect([...simulator.ledger.receipts()]).toHaveLength(1_250);
    expect(new Set([...simulator.ledger.receipts()].map(({ user }) => user)).size).toBe(1_250);
    expect([...simulator.ledger.violations()]).toEqual([]);
    expect(new Set([...simulator.ledger.requests()].map(({ retryKey }) => retryKey)).size).toBe(3);
    expect(await states(db)).toEqual(['sent']);
  },
);
