import { findPerson, writeEvidence } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, insertTenant, moveProductTime, testDb } from '@dueline/db/testing';
import { createTestDeliveries, retryKey } from '@dueline/deliveries';
import { nthUserId } from '@dueline/line-simulator';
import { expect, test } from 'vitest';
import { audienceOf, CHANNEL, claimOne, type Stage, stage, startedTo } from './campaign-stage.ts';

const user = (n: number) => nthUserId('e', n);

const keyOf = (campaignId: string, ordinal: number, splitPath = '') =>
  retryKey({
    ...{ channelId: CHANNEL.channelId, kind: 'campaign', logicalId: campaignId, epoch: 1 },
    ...{ endpoint: 'multicast', ordinal, splitPath },
  });

test('a person is told when they got a campaign, with which request of LINE, under which key; in the first chunk, in the last, and between', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 1_250);
  const ask = (n: number) => findPerson(db, on.tenant, { campaignId, userId: user(n) });
  expect(await ask(7)).toMatchObject({ outcome: 'open', request: { chunkNo: 0, status: 'planned', attempts: [] } });
  await on.sendDue();
  const requests = [...on.simulator.ledger.requests()];
  for (const [n, chunkNo] of [
    [0, 0],
    [499, 0],
    [500, 1],
    [999, 1],
    [1_000, 2],
    [1_249, 2],
  ] as const) {
    const answer = await ask(n);
    const key = keyOf(campaignId, chunkNo);
    const request = requests.find(({ retryKey: used }) => used === key);
    expect(answer).toMatchObject({
      ...{
        campaignId,
        userId: user(n),
        status: 'sent',
        castType: 'multicast',
        outcome: 'accepted',
        why: null,
        isFriend: true,
      },
      request: {
        ...{ chunkNo, splitPath: '', endpoint: 'multicast', status: 'accepted', reasonCode: null, retryKey: key },
        ...{ acceptedAt: expect.any(String), lineRequestId: request?.requestId, lineAcceptedRequestId: null },
        attempts: [
          { attemptNo: 1, retryKey: key, outcome: 'accepted', httpStatus: 200, lineRequestId: request?.requestId },
        ],
      },
    });
  }
});

test('of a request that was split each is told of the part that they are in, and who is not taken is told so', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 20);
  on.simulator.faults.set({
    rules: [
      { id: 'f', match: { endpoint: 'multicast', bodyContains: user(13) }, effect: { type: 'status', status: 400 } },
    ],
  });
  await on.sendDue();
  const poisoned = await findPerson(db, on.tenant, { campaignId, userId: user(13) });
  expect(poisoned).toMatchObject({
    outcome: 'invalid',
    why: null,
    request: { status: 'refused', reasonCode: 'invalid_recipient' },
  });
  expect(poisoned?.request?.splitPath).toMatch(/^1[01]+$/);
  expect(await findPerson(db, on.tenant, { campaignId, userId: user(2) })).toMatchObject({
    ...{ outcome: 'accepted', request: { splitPath: '0', retryKey: keyOf(campaignId, 0, '0') } },
  });
});

test('who is in no request is told why', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const { tenant } = on;
  const left = await audienceOf(db, tenant, [user(1), user(2)]);
  await audienceOf(db, tenant, [user(30)]); // a person of the account
  await db.$client.query('update line_user set is_following = false, blocked_at = app_now() where user_id = $1', [
    user(30),
  ]);
  const members = Array.from({ length: 26 }, (_, n) => user(n)).concat(user(30));
  const campaignId = await startedTo(on, members, { exclude: { audienceIds: [left], userIds: [user(3)] } });
  await moveProductTime(db, 60);
  const [audienceId] = await columnOf(db, 'select audience_id from campaign');
  await audienceOf(db, tenant, [user(40), user(41)]);
  await db.$client.query(
    'insert into audience_member (audience_id, organization_id, line_oa_id, user_id) values ($1, $2, $3, $4)',
    [audienceId, tenant.organizationId, tenant.lineOaId, user(40)],
  );
  await db.$client.query('delete from audience_member where audience_id = $1 and user_id = $2', [left, user(2)]);
  await db.$client.query('update line_user set is_following = false, blocked_at = app_now() where user_id = $1', [
    user(5),
  ]);
  const ask = async (n: number) => {
    const answer = await findPerson(db, tenant, { campaignId, userId: user(n) });
    return [answer?.outcome, answer?.why, answer?.isFriend];
  };
  expect(await ask(1)).toEqual(['left_out', 'excluded', true]);
  expect(await ask(3)).toEqual(['left_out', 'excluded', true]);
  expect(await ask(2)).toEqual(['left_out', 'not_then', true]); // has left the audience that kept them out
  expect(await ask(30)).toEqual(['left_out', 'blocked', false]);
  expect(await ask(40)).toEqual(['left_out', 'joined_later', true]);
  expect(await ask(41)).toEqual(['left_out', 'not_in_audience', true]);
  expect(await ask(99)).toEqual(['left_out', 'stranger', false]);
  expect(await ask(5)).toEqual(['open', null, false]); // blocked since: LINE drops it, the request stays as it is
});

test('before the start a person is told whether the campaign would reach them', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const audienceId = await audienceOf(db, on.tenant, [user(1), user(2)]);
  const { id: campaignId } = await dueCampaign(db, on.tenant, { audienceId, exclude: { userIds: [user(2)] } });
  const ask = async (n: number) => {
    const answer = await findPerson(db, on.tenant, { campaignId, userId: user(n) });
    return [answer?.outcome, answer?.why];
  };
  expect(await ask(1)).toEqual(['not_started', null]);
  expect(await ask(2)).toEqual(['not_started', 'excluded']);
  expect(await ask(3)).toEqual(['not_started', 'stranger']);
});

test('of a broadcast a person is told what became of the request; who got it LINE alone knows', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const { id: campaignId } = await dueCampaign(db, on.tenant);
  await on.start(await claimOne(db));
  await db.$client.query('update delivery set published_at = null');
  await on.sendDue();
  expect(await findPerson(db, on.tenant, { campaignId, userId: user(3) })).toMatchObject({
    ...{ castType: 'broadcast', outcome: 'accepted', isFriend: false, request: { chunkNo: 0, endpoint: 'broadcast' } },
  });
});

test('a person of another account, a campaign of another account, and what is no person are told apart', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 2);
  const other = await insertTenant(db);
  expect(await findPerson(db, other, { campaignId, userId: user(1) })).toBeUndefined();
  expect(await findPerson(db, on.tenant, { campaignId: '4711', userId: user(1) })).toBeUndefined();
  await expect(findPerson(db, on.tenant, { campaignId, userId: '山田' })).rejects.toThrow('person is invalid');
});

/** Plans a test as the command does, and sends it. */
async function sendTest(
  db: Db,
  { tenant, sendDue }: Stage,
  { campaignId, userIds }: { campaignId: string; userIds: string[] },
) {
  const messages = [{ type: 'text' as const, text: `test [[lid:test-${crypto.randomUUID()}]]` }];
  await inTransaction(db, (tx) =>
    createTestDeliveries(tx, { ...tenant, channelId: CHANNEL.channelId, campaignId, userIds, messages }),
  );
  await sendDue();
}

test('tests of a campaign arrive under keys of their own, each anew, and nothing of the campaign counts them', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 3);
  const before = await evidenceCounts(db, on.tenant, campaignId);
  await sendTest(db, on, { campaignId, userIds: [user(1), user(2)] });
  await sendTest(db, on, { campaignId, userIds: [user(1), user(2)] });

  const pushes = [...on.simulator.ledger.requests()].filter(({ path }) => path.endsWith('/push'));
  const keys = [...on.simulator.ledger.requests()].map((request) => request.retryKey);
  expect(pushes).toHaveLength(4);
  expect(new Set(keys).size).toBe(5); // the campaign’s own chunk too
  expect(
    await columnOf(
      db,
      `select concat_ws(' ', endpoint, status, count(*)) from delivery where kind = 'test' group by endpoint, status`,
    ),
  ).toEqual(['push accepted 4']);
  expect(await columnOf(db, `select count(*) from delivery where kind = 'test' and campaign_id is not null`)).toEqual([
    '0',
  ]);
  expect(await evidenceCounts(db, on.tenant, campaignId)).toEqual({ ...before, requests: 1 });
  expect([...on.simulator.ledger.violations()]).toEqual([]);
});

const evidenceCounts = async (db: Db, tenant: Tenant, campaignId: string) => {
  const lines: string[] = [];
  const totals = await writeEvidence(db, tenant, { campaignId, write: (line) => lines.push(line) });
  return { requests: totals?.requests, lines: lines.length };
};

test('a test goes out in quiet hours, and not after half an hour any more', async () => {
  await using database = await testDb();
  const { db } = database;
  const on = await stage(db);
  const campaignId = await startedTo(on, 1);
  await db.$client.query("update line_oa set quiet_from = '00:00', quiet_to = '23:59', quiet_policy = 'shift'");
  await sendTest(db, on, { campaignId, userIds: [user(0)] });
  expect(
    await columnOf(
      db,
      `select concat_ws(' ', status, round(extract(epoch from deliver_until - created_date) / 60)) from delivery where kind = 'test'`,
    ),
  ).toEqual(['accepted 30']);
});
