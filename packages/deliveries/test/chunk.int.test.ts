import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import {
  announceCampaignDeliveries,
  type CreatedDelivery,
  createChunkDeliveries,
  unpublishDeliveries,
} from '../src/index.ts';
import { letWaitsPass, mustStart, settle, start, startNow, stateOf } from './support.ts';

let own: TestDb;
let tenant: Tenant;
let campaignId: string;
const disposals: TestDb[] = [];
beforeEach(async () => {
  own = await testDb();
  disposals.push(own);
  tenant = await insertTenant(own.db);
  campaignId = await insertCampaign();
});
afterAll(async () => {
  for (const database of disposals) await database[Symbol.asyncDispose]();
});

/** A campaign that is being sent. */
async function insertCampaign(): Promise<string> {
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId };
  const row = {
    ...base,
    name: 'x',
    cast_type: 'broadcast',
    status: 'sending',
    claimed_at: new Date(),
    start_date: new Date(),
  };
  return String((await insertRow(own.db, 'campaign', row)).id);
}

const plan = (chunks: readonly (readonly string[] | null)[], channelId = '2000000001'): Promise<CreatedDelivery[]> =>
  inTransaction(own.db, (tx) =>
    createChunkDeliveries(
      tx,
      chunks.map((userIds, chunkNo) => ({
        ...{ ...tenant, channelId, campaignId, chunkNo, userIds, deliverUntil: null },
        messages: [{ type: 'text', text: 'hello 🎉' }],
      })),
    ),
  );

async function planOne(): Promise<CreatedDelivery> {
  const [created] = await plan([null]);
  if (created === undefined) throw new Error('nothing was created');
  return created;
}

const setCampaign = (status: string) =>
  own.db.$client.query('update campaign set status = $1, fence = fence + 1', [status]);

test('chunks are planned once, with the exact body that LINE gets', async () => {
  const users = [[lineUserId(1), lineUserId(2)], [lineUserId(3)]];
  const both = await Promise.all([plan(users), plan(users)]);
  expect(both.flat()).toHaveLength(2);
  expect(
    await columnOf(own.db, 'select concat_ws($$ $$, endpoint, ordinal, chunk_no, body) from delivery order by ordinal'),
  ).toEqual(
    users.map(
      (to, no) => `multicast ${no} ${no} ${JSON.stringify({ to, messages: [{ type: 'text', text: 'hello 🎉' }] })}`,
    ),
  );
});

test('the keys of the chunks of campaign 42 are the published ones', async () => {
  await own.db.$client.query('alter table campaign alter id restart with 42');
  campaignId = await insertCampaign();
  expect(campaignId).toBe('42');
  await plan([[lineUserId(1)], [lineUserId(2)]]);
  expect(await columnOf(own.db, 'select retry_key from delivery order by chunk_no')).toEqual([
    'dc0c9433-63d6-8f8b-a3a4-9ee5d108b038',
    '94bdbfec-2a88-8774-85c4-322725c5bbaa',
  ]);
  await plan([null]);
  expect(await columnOf(own.db, `select retry_key from delivery where endpoint = 'broadcast'`)).toEqual([
    '3f237171-3de8-8849-8683-a24c220b80ec',
  ]);
});

test.for(['paused', 'scheduled', 'cancel', 'sent', 'needs_attention'])(
  'no clean chunk starts while its campaign is %s [SEM-126]',
  async (status) => {
    const { id } = await planOne();
    await setCampaign(status);
    expect(await startNow(own.db, tenant, id)).toBeUndefined();
    expect(await stateOf(own.db, id)).toBe('planned 0 -');
  },
);

test('no chunk of a deleted campaign starts [SEM-127]', async () => {
  const { id } = await planOne();
  await own.db.$client.query('update campaign set deleted_date = app_now()');
  expect(await startNow(own.db, tenant, id)).toBeUndefined();
});

test('a chunk that LINE may have is asked about though its campaign was stopped', async () => {
  const { id } = await planOne();
  const started = await mustStart(own.db, tenant, id);
  await settle(own.db, started, { outcome: 'ambiguous' });
  await setCampaign('paused');
  await letWaitsPass(own.db);
  expect(await startNow(own.db, tenant, id)).toMatchObject({ verdict: 'ambiguous', endpoint: 'broadcast', campaignId });
});

test('a start that meets a stop waits for it, and starts nothing once it is committed', async () => {
  const ticket = await planOne();
  const client = await own.db.$client.connect();
  try {
    await client.query('begin');
    await client.query('select from campaign for no key update');
    const starting = start(own.db, tenant, { tickets: [ticket] });
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(() => columnOf(own.db, waiting)).toHaveLength(1);
    await client.query(`update campaign set status = 'paused', fence = fence + 1`);
    await client.query('commit');
    expect(await starting).toEqual([]);
  } finally {
    client.release();
  }
});

test('all that is left of a campaign is announced again at once, whatever was announced before, and nothing of another', async () => {
  const [first, second] = await plan([[lineUserId(1)], [lineUserId(2)]]);
  if (first === undefined || second === undefined) throw new Error('nothing was created');
  await mustStart(own.db, tenant, first.id);
  const mine = campaignId;
  campaignId = await insertCampaign();
  await planOne();
  const rest = await inTransaction(own.db, (tx) => announceCampaignDeliveries(tx, { campaignId: mine }));
  expect(rest).toEqual([{ ...tenant, id: second.id, fence: '0', isChunk: true, isWebhook: false }]);
  await unpublishDeliveries(own.db, rest);
  expect(await columnOf(own.db, 'select published_at from delivery where id = $1', [second.id])).toEqual([null]);
});
