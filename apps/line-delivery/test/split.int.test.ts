import { CAMPAIGN_INVARIANTS, getCampaignResult } from '@dueline/campaigns';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import { closeOverdueDeliveries, DELIVERY_INVARIANTS, reapEarlierBoots, settleDeliveries } from '@dueline/deliveries';
import { nthUserId } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { closeEnded } from '../src/close-campaigns.ts';
import { membersOf, stage, startedTo } from './campaign-stage.ts';

type Stage = Awaited<ReturnType<typeof stage>>;
const POISON = nthUserId('e', 137);
const LIMITS = { leaseOverSeconds: 60, silentSeconds: 900, overdueSeconds: 300, historyDays: 31 };
const HOUR = 3_600;

const poison = ({ simulator }: Stage, users: readonly string[], keyAttempt: number[] = []) =>
  simulator.faults.set({
    rules: [{ id: 'f22', match: { endpoint: 'multicast', keyAttempt }, effect: { type: 'poison', users: [...users] } }],
  });

const receivers = ({ simulator }: Stage) => [...simulator.ledger.receipts()].map(({ user }) => user).sort();
const requests = ({ simulator }: Stage) => [...simulator.ledger.requests()].length;
const ends = (db: Db) =>
  columnOf(
    db,
    `select concat_ws(' ', status, reason_code, count(*)) from delivery group by status, reason_code order by 1`,
  );
const campaigns = (db: Db) => columnOf(db, `select concat_ws(' ', status, reason_code) from campaign`);

async function expectSound(db: Db, { simulator }: Stage): Promise<void> {
  expect([...simulator.ledger.violations()].filter(({ code }) => code !== 'V11')).toEqual([]);
  for (const { id, offending } of [...DELIVERY_INVARIANTS, ...CAMPAIGN_INVARIANTS])
    expect({ id, rows: (await db.execute(offending(LIMITS))).rows }).toEqual({ id, rows: [] });
}

const none = { accepted: 0, invalid: 0, refused: 0, unknown: 0, expired: 0, cancelled: 0, open: 0 };

test('of 500 one is poison and LINE says who: 499 receive, it ends as invalid with two requests more, and needs no person [T14]', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 500);
  poison(on, [POISON]);
  await on.sendDue();

  expect(receivers(on)).toEqual(membersOf(500).filter((user) => user !== POISON));
  expect(requests(on)).toBe(3);
  expect(await ends(db)).toEqual(['accepted 1', 'refused invalid_recipient 1', 'split split 1']);
  expect(await campaigns(db)).toEqual(['sent']);
  expect(await getCampaignResult(db, { campaignId })).toEqual({ ...none, accepted: 499, invalid: 1 });
  expect(await columnOf(db, 'select count(*) from attention_item')).toEqual(['0']);
  await expectSound(db, on);
});

test('of 500 one is poison and LINE does not say who: it is found by halves, in 2·log2(500)+2 requests more at most [T14]', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 500);
  on.simulator.faults.set({
    rules: [
      { id: 'f', match: { endpoint: 'multicast', bodyContains: POISON }, effect: { type: 'status', status: 400 } },
    ],
  });
  await on.sendDue({ replicas: 2 });

  expect(receivers(on)).toEqual(membersOf(500).filter((user) => user !== POISON));
  expect(requests(on) - 1).toBeLessThanOrEqual(2 * Math.log2(500) + 2);
  expect(await getCampaignResult(db, { campaignId })).toEqual({ ...none, accepted: 499, invalid: 1 });
  expect(await campaigns(db)).toEqual(['sent']);
  await expectSound(db, on);
});

test('people whom LINE does not know are found among 1,250 though it names one at a time; the others receive once [T14]', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db, { multicastUnknownUser: 'reject400' });
  const strangers = [0, 1, 7].map((n) => nthUserId('f', n));
  const campaignId = await startedTo(on, [...membersOf(1_247), ...strangers]);
  await on.sendDue({ replicas: 2 });

  expect(receivers(on)).toEqual(membersOf(1_247));
  expect(await getCampaignResult(db, { campaignId })).toEqual({ ...none, accepted: 1_247, invalid: 3 });
  expect(await campaigns(db)).toEqual(['sent']);
  await expectSound(db, on);
});

test('what is too large for LINE is halved until it is not', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 400);
  on.simulator.faults.set({
    rules: [{ id: 'f', match: { endpoint: 'multicast', nth: [1, 2] }, effect: { type: 'status', status: 413 } }],
  });
  await on.sendDue();
  expect(receivers(on)).toEqual(membersOf(400));
  expect(requests(on)).toBe(5);
  expect(await getCampaignResult(db, { campaignId })).toEqual({ ...none, accepted: 400 });
  await expectSound(db, on);
});

test('a refusal for ever after an answer that was lost: LINE validates before it looks at the key, and knows one of 500 no more; nothing is split, one key is asked for 23 hours, then it is unknown [T15b]', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 500);
  on.simulator.faults.set({
    rules: [
      { id: 'f06', match: { keyAttempt: [1] }, phase: 'afterAccept', effect: { type: 'status', status: 500 } },
      {
        id: 'gone',
        match: { endpoint: 'multicast' },
        phase: 'beforeAuth',
        effect: { type: 'poison', users: [POISON] },
      },
    ],
  });
  for (let hour = 0; hour < 23; hour += 1) {
    await on.sendDue();
    await on.pass(HOUR);
  }
  await on.pass(HOUR);
  await on.sendDue();
  expect((await inTransaction(db, closeOverdueDeliveries)).map(({ status }) => status)).toEqual(['unknown']);
  await closeEnded(db);

  expect(requests(on)).toBe(23);
  expect(await columnOf(db, 'select count(distinct retry_key) from delivery_attempt')).toEqual(['1']);
  expect(await ends(db)).toEqual(['unknown ambiguous 1']);
  expect(await campaigns(db)).toEqual(['needs_attention chunk_unknown']);
  expect(await getCampaignResult(db, { campaignId })).toEqual({ ...none, unknown: 500 });
  expect(receivers(on)).toEqual(membersOf(500));
  await expectSound(db, on);
});

test('killed between LINE’s refusal and its record, a request is never split: it may have been accepted, and its key tells', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  await startedTo(on, 500);
  poison(on, [POISON], [1]);
  const { rows } = await db.$client.query<{ id: string; fence: string }>('select id, fence from delivery');
  await on.send(rows, true, { settle: () => Promise.reject(new Error('died')) });
  await reapEarlierBoots(db, { claimedBy: 'line-delivery/test:2' });
  await on.sendDue();
  expect(await ends(db)).toEqual(['accepted 1']);
  expect(receivers(on)).toEqual(membersOf(500));
});

test('a verdict that is written twice, or by an owner that lost the request, makes no part twice', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  await startedTo(on, 500);
  poison(on, [POISON]);
  const { rows } = await db.$client.query<{ id: string; fence: string }>('select id, fence from delivery');
  await on.send(rows, true, {
    settle: async (settlement) => {
      const twice = await Promise.all([1, 2].map(() => settleDeliveries(db, [settlement])));
      expect((await settleDeliveries(db, [settlement])).size).toBe(0);
      return twice.some(({ size }) => size === 1);
    },
  });
  expect(await ends(db)).toEqual(['planned 2', 'split split 1']);
  await on.sendDue({ replicas: 3 });
  expect(receivers(on)).toEqual(membersOf(500).filter((user) => user !== POISON));
  await expectSound(db, on);
});
