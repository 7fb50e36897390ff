import { retryCampaign, setCampaignPace } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import { type Db, inTenant, inTransaction } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import { announceDeliveries, renewDeliveries, repaceChunks, retryCampaignDeliveries } from '@dueline/deliveries';
import type { LineOutcome } from '@dueline/line-client';
import { expect, test } from 'vitest';
import type { ExecuteDeps } from '../src/execute-action.ts';
import { audienceOf, campaignSeen, claimOne, stage } from './campaign-stage.ts';

const PATIENCE = { timeout: 60_000 };

/** A campaign to so many people that was started, at so many a minute. */
async function paced(
  db: Db,
  { people, maxPerMinute, notAfter }: { people: number; maxPerMinute: number; notAfter?: string },
) {
  const all = await stage(db);
  const campaign = await dueCampaign(db, all.tenant, {
    audienceId: await audienceOf(db, all.tenant, people),
    ...(notAfter !== undefined && { notAfter }),
  });
  const setPace = async (perMinute: number | null) => {
    const fence = String(await columnOf(db, `select fence from campaign where id = ${campaign.id}`));
    const wanted = { campaign: { id: campaign.id, fence }, maxPerMinute: perMinute, repaceDeliveries: repaceChunks };
    return inTenant(db, all.tenant, (tx) => setCampaignPace(tx, all.tenant, wanted));
  };
  expect(await setPace(maxPerMinute)).toEqual({ result: 'set', repaced: 0 });
  await all.start(await claimOne(db));
  return { ...all, campaign, setPace };
}

const sent = (db: Db) => columnOf(db, `select chunk_no from delivery where status = 'accepted' order by 1`);
/** Seconds behind the freeze. */
const dueIn = (db: Db) =>
  columnOf(
    db,
    `select round(extract(epoch from next_attempt_at - (select frozen_at from campaign)))::int from delivery where status = 'planned' order by chunk_no`,
  );

test(
  'a campaign at 50 people a minute sends a chunk each ten minutes, whatever number of replicas sends, and each person once',
  PATIENCE,
  async () => {
    await using database = await testDb();
    const { db } = database;
    const { published, send, sendDue, pass, simulator } = await paced(db, { people: 1_250, maxPerMinute: 50 });
    expect(published).toHaveLength(1); // the others are announced at their time
    expect(await dueIn(db)).toEqual(['0', '600', '1200']);
    await Promise.all([send(published), send(published)]);
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toEqual(['0']);
    await pass(500);
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toEqual(['0']);
    await pass(100);
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toEqual(['0', '1']);
    await pass(600);
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toEqual(['0', '1', '2']);
    expect([...simulator.ledger.receipts()]).toHaveLength(1_250);
    expect(await columnOf(db, 'select status from campaign')).toEqual(['sent']);
  },
);

test(
  'after an outage a paced campaign goes on at its pace, not with all that piled up, and nothing of it grows too old meanwhile',
  PATIENCE,
  async () => {
    await using database = await testDb();
    const { db } = database;
    const { published, send, sendDue, pass } = await paced(db, { people: 1_250, maxPerMinute: 1 });
    await send(published);
    expect(await dueIn(db)).toEqual(['30000', '60000']);
    const lasts = `select deliver_until - next_attempt_at = interval '1 day' from delivery where status = 'planned'`;
    expect(await columnOf(db, lasts)).toEqual(['true', 'true']);
    await pass(82_000); // both are due now
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toHaveLength(2);
    expect(Number((await dueIn(db))[0])).toBeGreaterThan(29_990); // what it is late by is made up for by two seconds, not by all of it
    await pass(30_000);
    await sendDue();
    expect(await sent(db)).toHaveLength(3);
  },
);

test('a campaign that waits for its pace does not hold up another one of its account', PATIENCE, async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, published, start, send } = await paced(db, { people: 1_250, maxPerMinute: 1 });
  await db.$client.query(`update delivery set next_attempt_at = app_now()`); // as if all were due
  await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, 3) });
  published.splice(0);
  const due = await announceDeliveries(db, { limit: 100, againAfterSeconds: 0 });
  await start(await claimOne(db));
  const outcome = await send([...due, ...published]);
  expect(outcome).toEqual({ outcome: 'done', detail: { started: 2, putBack: 2 } });
});

test(
  'the pace of a campaign is changed while it sends: at once, for what has not begun, and each person once',
  PATIENCE,
  async () => {
    await using database = await testDb();
    const { db } = database;
    const { published, send, sendDue, pass, setPace, simulator } = await paced(db, { people: 1_250, maxPerMinute: 1 });
    await send(published);
    expect(await sent(db)).toEqual(['0']);
    await pass(10);
    expect(await setPace(50)).toEqual({ result: 'set', repaced: 2 });
    const [next = 0, afterNext = 0] = (await dueIn(db)).map(Number);
    expect(next).toBeLessThan(1_000); // the pace of before would have kept it for hours
    expect(afterNext - next).toBe(600);
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toEqual(['0', '1']);
    expect(await setPace(null)).toEqual({ result: 'set', repaced: 1 });
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toEqual(['0', '1', '2']);
    expect([...simulator.ledger.receipts()]).toHaveLength(1_250);
    expect(await setPace(500)).toMatchObject({ result: 'refused', refusal: 'wrong_status', status: 'sent' });
  },
);

test(
  'a campaign is slowed down while its tickets are on their way: they come again at their new times',
  PATIENCE,
  async () => {
    await using database = await testDb();
    const { db } = database;
    const { published, send, sendDue, pass, setPace } = await paced(db, { people: 1_250, maxPerMinute: 10_000_000 });
    await send(published);
    await pass(1);
    const onTheirWay = await announceDeliveries(db, { limit: 10, againAfterSeconds: 60 });
    expect(onTheirWay).toHaveLength(2);
    expect(await setPace(50)).toEqual({ result: 'set', repaced: 2 });
    await send(onTheirWay);
    expect(await sent(db)).toEqual(['0', '1']);
    await pass(600);
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toEqual(['0', '1', '2']);
  },
);

test('a pace that is changed makes nothing too late, unless the campaign has a last instant', PATIENCE, async () => {
  await using database = await testDb();
  const { db } = database;
  const { setPace } = await paced(db, { people: 1_000, maxPerMinute: 500 });
  await setPace(1);
  const lasts = `select deliver_until - next_attempt_at >= interval '1 day' from delivery where status = 'planned'`;
  expect(await columnOf(db, lasts)).toEqual(['true', 'true']);
});

test('a pace is refused that is no number of people, or that names a campaign as it no longer is', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, campaign, setPace } = await paced(db, { people: 1, maxPerMinute: 500 });
  await expect(setPace(0)).rejects.toThrow('pace is invalid at /maxPerMinute: a whole number from 1 to 10000000');
  const old = { campaign, maxPerMinute: 100, repaceDeliveries: repaceChunks };
  expect(await inTenant(db, tenant, (tx) => setCampaignPace(tx, tenant, old))).toMatchObject({ refusal: 'changed' });
});

/** LINE answers all of it so, each chunk at its time. */
async function fail(
  { published, send, pass, db }: Awaited<ReturnType<typeof paced>>,
  multicast: () => Promise<LineOutcome>,
) {
  const line = { multicast } as unknown as ExecuteDeps['line'];
  await send(published, true, { line });
  for (const _ of [1, 2]) {
    await pass(600);
    await send(await announceDeliveries(db, { limit: 10, againAfterSeconds: 60 }), true, { line });
  }
}

test('what failed of a paced campaign and is sent again keeps the pace', PATIENCE, async () => {
  await using database = await testDb();
  const { db } = database;
  const all = await paced(db, { people: 1_250, maxPerMinute: 50 });
  const { tenant, campaign, published, pass, start, send, sendDue } = all;
  await fail(all, async () => ({ kind: 'refused', status: 403, detail: 'Forbidden' }));
  expect(await columnOf(db, 'select status from campaign')).toEqual(['needs_attention']);
  const again = { campaign: await campaignSeen(db, tenant, campaign.id), acceptDuplicates: false };
  await inTenant(db, tenant, (tx) => retryCampaign(tx, tenant, { ...again, retryDeliveries: retryCampaignDeliveries }));
  await pass(3_600);
  published.splice(0);
  await start(await claimOne(db));
  await Promise.all([send(published), send(published)]);
  expect(await sent(db)).toEqual(['0']);
  await pass(600);
  await sendDue({ replicas: 2 });
  expect(await sent(db)).toEqual(['0', '1']);
});

test('what LINE did not serve for a day and takes a new key keeps the pace of its campaign', PATIENCE, async () => {
  await using database = await testDb();
  const { db } = database;
  const all = await paced(db, { people: 1_250, maxPerMinute: 50 });
  await fail(all, async () => ({ kind: 'throttled', status: 429, reason: 'monthly', detail: 'the month' }));
  await db.$client.query(`update delivery set deliver_until = deliver_until + interval '1 day'`);
  await all.pass(82_800);
  expect(await inTransaction(db, renewDeliveries)).toBe(3);
  await all.sendDue({ replicas: 2 });
  expect(await sent(db)).toEqual(['0']);
});
