import { reapCampaigns } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import {
  type CampaignTicket,
  lineBroadcastRichMessage,
  lineMulticastRichMessage,
  processCampaign,
  type Queue,
  type Tenant,
} from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { columnOf, insertRow, insertTenant, insertUsers, testDb } from '@dueline/db/testing';
import { type Broker, connectBroker, DONE, TICK } from '@dueline/mq';
import { testVhost } from '@dueline/mq/testing';
import { expect, onTestFinished, test } from 'vitest';
import { type ProcessDeps, processCampaigns } from '../src/process-campaign.ts';
import { reapDeadCampaigns } from '../src/reap-campaigns.ts';

const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const context = { signal: new AbortController().signal };
const message = { id: '', tenant: TICK.tenant, data: null, deliveryCount: 0, publishedAt: '' };

async function connect(): Promise<Broker> {
  const vhost = await testVhost();
  const broker = connectBroker({ url: vhost.url, appId: 'test', log });
  onTestFinished(async () => {
    await broker.close();
    await vhost[Symbol.asyncDispose]();
  });
  await broker.ready();
  return broker;
}

const depsOf = (db: Db, broker: Pick<Broker, 'publish'>, name = 'd'): ProcessDeps => ({
  db,
  broker,
  claimedBy: `${name}:boot`,
  reap: async () => undefined,
  onClaimed: () => undefined,
});

async function insertAudience(db: Db, tenant: Tenant): Promise<string> {
  const own = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId };
  const [userId] = await insertUsers(db, tenant, 1);
  const { id } = await insertRow(db, 'audience', { ...own, name: 'audience' });
  await insertRow(db, 'audience_member', { ...own, audience_id: id, user_id: userId });
  return String(id);
}

async function ticketsOn(broker: Broker, queue: Queue<CampaignTicket>): Promise<CampaignTicket[]> {
  const tickets: CampaignTicket[] = [];
  const consumer = broker.consume(
    queue,
    async ({ data }) => {
      tickets.push(data);
      return DONE;
    },
    { concurrency: 4 },
  );
  await broker.ready();
  await broker.settled();
  await consumer.drain();
  return tickets;
}

test('a tick puts each due campaign on the queue of its cast type, once, however many dispatchers get it [SEM-128]', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  const tenant = await insertTenant(db);
  const audienceId = await insertAudience(db, tenant);
  for (let n = 0; n < 60; n += 1) await dueCampaign(db, tenant, n % 2 === 0 ? { audienceId } : {});

  const outcomes = await Promise.all(
    ['a', 'b', 'c'].map((name) => processCampaigns(depsOf(db, broker, name))(message, context)),
  );
  expect(await processCampaigns(depsOf(db, broker))(message, context)).toMatchObject({ outcome: 'discarded' });

  expect(outcomes.some(({ outcome }) => outcome === 'done')).toBe(true);
  const [broadcasts, multicasts] = [
    await ticketsOn(broker, lineBroadcastRichMessage),
    await ticketsOn(broker, lineMulticastRichMessage),
  ];
  expect([broadcasts.length, multicasts.length]).toEqual([30, 30]);
  expect(new Set([...broadcasts, ...multicasts].map(({ campaignId }) => campaignId)).size).toBe(60);
  expect(multicasts[0]).toMatchObject({ ...tenant, audienceId, fence: '2' });
  expect(broadcasts[0]).toMatchObject({ audienceId: null });
  expect(await columnOf(db, 'select distinct status from campaign')).toEqual(['sending']);
});

test('a tick that comes through the broker claims what is due', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  await dueCampaign(db, await insertTenant(db));
  const consumer = broker.consume(processCampaign, processCampaigns(depsOf(db, broker)), { concurrency: 1 });

  for (let tick = 0; tick < 3; tick += 1) await broker.publish(processCampaign, [TICK]);
  await expect.poll(() => columnOf(db, 'select status from campaign')).toEqual(['sending']);
  await broker.settled();
  await consumer.drain();

  expect(await ticketsOn(broker, lineBroadcastRichMessage)).toHaveLength(1);
});

test('a campaign whose ticket was not confirmed is scheduled at once, and the copy that arrived all the same is stale [SEM-093]', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  const tenant = await insertTenant(db);
  await dueCampaign(db, tenant);
  await dueCampaign(db, tenant, { audienceId: await insertAudience(db, tenant) });
  const losing: Broker['publish'] = async (queue, messages) => {
    await broker.publish(queue, messages);
    return messages.map(() =>
      queue.name === 'line_broadcast_rich_message' ? { ok: false, reason: 'timeout' } : { ok: true },
    );
  };

  expect(await processCampaigns(depsOf(db, { publish: losing }))(message, context)).toEqual({
    outcome: 'done',
    detail: { published: 1, failed: 1 },
  });

  expect(await columnOf(db, `select concat_ws(' ', status, fence) from campaign order by id`)).toEqual([
    'scheduled 3',
    'sending 2',
  ]);
  await processCampaigns(depsOf(db, broker))(message, context);
  const fences = (await ticketsOn(broker, lineBroadcastRichMessage)).map(({ fence }) => fence);
  expect(fences).toEqual(['2', '4']); // the first is refused by the start
});

test('what a dead dispatcher held is taken back before the claim, and told', async () => {
  await using database = await testDb();
  const { db } = database;
  const broker = await connect();
  const tenant = await insertTenant(db);
  for (const name of ['gone', 'd']) {
    await dueCampaign(db, tenant);
    await processCampaigns(depsOf(db, { publish: async () => [{ ok: true }] }, name))(message, context);
  }
  await dueCampaign(db, tenant, { notAfter: '2026-01-02T00:00:00Z' });
  await db.$client.query(
    `update campaign set claimed_at = clock_timestamp() - interval '16 minutes' where claimed_by = 'gone:boot'`,
  );
  const told: string[] = [];
  const reap = reapDeadCampaigns({
    db,
    claimedBy: 'd:next',
    staleSeconds: 900,
    onReaped: (what, count) => told.push(`${what} ${count}`),
  });

  await processCampaigns({ ...depsOf(db, broker), reap })(message, context);

  expect(told).toEqual(['earlier_boot 1', 'stale 1', 'too_late 1']);
  expect(await ticketsOn(broker, lineBroadcastRichMessage)).toHaveLength(2);
  expect(await reapCampaigns(db, { staleSeconds: 900 })).toBe(0);
});
