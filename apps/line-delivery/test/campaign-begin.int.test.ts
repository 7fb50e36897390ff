import { resumeAccount, stopAccount } from '@dueline/accounts';
import { cancelCampaign, pauseCampaign, resumeCampaign } from '@dueline/campaigns';
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { cancelCampaignDeliveries, reapDeliveries, retryCampaignDeliveries } from '@dueline/deliveries';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CHANNEL, campaignSeen, claimOne, stage, startedTo } from './campaign-stage.ts';

let database: TestDb;
let db: Db;
let staged: Awaited<ReturnType<typeof stage>>;
let tenant: Tenant;
beforeEach(async () => {
  database = await testDb();
  db = database.db;
  staged = await stage(db);
  tenant = staged.tenant;
});
afterEach(() => database[Symbol.asyncDispose]());

const PEOPLE = 3;
const signed = { by: 'mika', reason: null };
const seen = (id: string) => campaignSeen(db, tenant, id);

/** Sends all of it; `meanwhile` comes when each attempt is written ahead and its request has not begun. */
async function sendWhile(meanwhile: () => Promise<unknown>): Promise<void> {
  const channelAccessToken = async () => {
    await meanwhile();
    return CHANNEL.channelAccessToken;
  };
  await staged.send(staged.published, true, { channelAccessToken, believedMs: 0 });
}

const resume = async (id: string) => {
  const campaign = await seen(id);
  await inTransaction(db, (tx) => resumeCampaign(tx, tenant, { campaign, retryDeliveries: retryCampaignDeliveries }));
  await staged.start(await claimOne(db));
};

/** What ends the wish for a request, and what brings it back; undefined: nothing. */
const STOPS: Readonly<
  Record<string, readonly [stop: (id: string) => Promise<unknown>, goOn?: (id: string) => Promise<unknown>]>
> = {
  'its campaign is cancelled': [
    async (id) => {
      const campaign = await seen(id);
      await inTransaction(db, (tx) =>
        cancelCampaign(tx, tenant, { campaign, stopDeliveries: cancelCampaignDeliveries }),
      );
    },
  ],
  'its campaign is paused': [
    async (id) => {
      const campaign = await seen(id);
      await inTransaction(db, (tx) => pauseCampaign(tx, tenant, { campaign }));
    },
    resume,
  ],
  'its account is stopped': [
    () => inTransaction(db, (tx) => stopAccount(tx, tenant, signed)),
    () => inTransaction(db, (tx) => resumeAccount(tx, tenant, { ...signed, how: 'catch_up', count: 0 })),
  ],
  'its account is paused': [
    () => db.$client.query(`update line_oa set status = 'paused_quota'`),
    () => db.$client.query(`update line_oa set status = 'active'`),
  ],
  'it was taken back from a worker that was frozen': [
    async () => {
      await db.$client.query(
        `update delivery set lease_until = clock_timestamp() - interval '1 second' where status = 'sending'`,
      );
      await reapDeliveries(db);
    },
    async () => undefined,
  ],
};

test.for(Object.keys(STOPS))(
  'a request that was started does not begin when meanwhile %s, and counts as never sent [T23]',
  async (name) => {
    const [stop, goOn] = STOPS[name] ?? [];
    const id = await startedTo(staged, PEOPLE);
    await sendWhile(async () => stop?.(id));
    expect([...staged.simulator.ledger.receipts()]).toEqual([]);
    expect(await columnOf(db, 'select outcome from delivery_attempt')).toEqual(['not_reached']);

    await goOn?.(id);
    await staged.pass(120);
    await staged.sendDue();
    const receipts = goOn === undefined ? 0 : PEOPLE;
    expect([...staged.simulator.ledger.receipts()]).toHaveLength(receipts);
    const status = goOn === undefined ? 'cancel' : 'sent';
    expect(await columnOf(db, 'select status from campaign')).toEqual([status]);
    expect([...staged.simulator.ledger.violations()]).toEqual([]);
  },
);

test('a request that is still wanted is sent, however long it took to begin', async () => {
  await startedTo(staged, PEOPLE);
  await sendWhile(async () => undefined);
  expect([...staged.simulator.ledger.receipts()]).toHaveLength(PEOPLE);
  expect(await columnOf(db, 'select status from campaign')).toEqual(['sent']);
});
