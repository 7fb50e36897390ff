import { setCampaignPace } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import { type Db, inTenant } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import { announceDeliveries } from '@dueline/deliveries';
import { expect, test } from 'vitest';
import { audienceOf, claimOne, stage } from './campaign-stage.ts';

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
  expect(await inTenant(db, all.tenant, (tx) => setCampaignPace(tx, { campaign, maxPerMinute }))).toBe(true);
  await all.start(await claimOne(db));
  return { ...all, campaign };
}

const sent = (db: Db) => columnOf(db, `select chunk_no from delivery where status = 'accepted' order by 1`);
/** Seconds behind the freeze. */
const dueIn = (db: Db) =>
  columnOf(
    db,
    `select round(extract(epoch from next_attempt_at - (select frozen_at from campaign)))::int from delivery where status = 'planned' order by chunk_no`,
  );

test(
  'a campaign at 500 people a minute sends a chunk a minute, whatever number of replicas sends, and each person once',
  PATIENCE,
  async () => {
    await using database = await testDb();
    const { db } = database;
    const { published, send, sendDue, pass, simulator } = await paced(db, { people: 1_250, maxPerMinute: 500 });
    expect(published).toHaveLength(1); // the others are announced at their time
    expect(await dueIn(db)).toEqual(['0', '60', '120']);
    await Promise.all([send(published), send(published)]);
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toEqual(['0']);
    await pass(58);
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toEqual(['0']);
    await pass(2);
    await sendDue({ replicas: 2 });
    expect(await sent(db)).toEqual(['0', '1']);
    await pass(60);
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

test('the pace of a campaign is set before its recipients are frozen, and refused when it is no number of people', async () => {
  await using database = await testDb();
  const { db } = database;
  const { tenant, campaign } = await paced(db, { people: 1, maxPerMinute: 500 });
  const set = (maxPerMinute: number) => inTenant(db, tenant, (tx) => setCampaignPace(tx, { campaign, maxPerMinute }));
  expect(await set(100)).toBe(false);
  await expect(set(0)).rejects.toThrow('pace is invalid at /maxPerMinute: a whole number from 1 to 10000000');
});
