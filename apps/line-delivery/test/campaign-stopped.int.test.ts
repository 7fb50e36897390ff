import { resumeAccount, stopAccount } from '@dueline/accounts';
import { cancelCampaign, claimCampaigns, pauseCampaign, reapCampaigns, resumeCampaign } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { cancelCampaignDeliveries, retryCampaignDeliveries } from '@dueline/deliveries';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeEnded } from '../src/close-campaigns.ts';
import { audienceOf, campaignSeen, claimOne, stage } from './campaign-stage.ts';

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

const PEOPLE = 1_100;
const seen = (id: string) => campaignSeen(db, tenant, id);

/** What halts an account, and what lets it go on. */
const HALTS: Readonly<Record<string, readonly [halt: () => Promise<unknown>, goOn: () => Promise<unknown>]>> = {
  'stopped by a person': [
    () => inTransaction(db, (tx) => stopAccount(tx, tenant, { by: 'mika', reason: null })),
    () => inTransaction(db, (tx) => resumeAccount(tx, tenant, { by: 'mika', reason: null, how: 'catch_up', count: 0 })),
  ],
  'paused for its quota': [
    () => db.$client.query(`update line_oa set status = 'paused_quota'`),
    () => db.$client.query(`update line_oa set status = 'active'`),
  ],
};

/** In which states a campaign may be when its account is halted, and what somebody does with it meanwhile. */
const STATES: readonly (readonly [state: string, reach: (id: string) => Promise<unknown>])[] = [
  ['scheduled', async () => undefined],
  ['claimed', async () => void claimed.push(await claimOne(db))],
  ['frozen', async () => staged.start(await claimOne(db))],
  [
    'half sent',
    async () => {
      await staged.start(await claimOne(db));
      await staged.send(staged.published.slice(0, 1));
    },
  ],
  [
    'paused',
    async (id) => {
      await staged.start(await claimOne(db));
      const campaign = await seen(id);
      await inTransaction(db, (tx) => pauseCampaign(tx, tenant, { campaign }));
    },
  ],
];
const claimed: Awaited<ReturnType<typeof claimOne>>[] = [];
const CASES = Object.keys(HALTS).flatMap((halt) => STATES.map(([state]) => [halt, state] as const));

const halting = (halt: string) => HALTS[halt] ?? HALTS['stopped by a person'] ?? [];

test.for(CASES)(
  'an account is %s while its campaign is %s: nothing of it is sent until it goes on, and then each person gets it once',
  async ([halt, state]) => {
    const [stop, goOn] = halting(halt);
    claimed.length = 0;
    const { id } = await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, PEOPLE) });
    await STATES.find(([name]) => name === state)?.[1](id);
    const before = [...staged.simulator.ledger.receipts()].length;
    await stop?.();

    for (const ticket of claimed) await staged.start(ticket); // a freeze sends nothing
    await staged.send(staged.published);
    await staged.pass(3_600);
    await staged.sendDue();
    expect(await claimCampaigns(db, { claimedBy: 'd:2', limit: 10 })).toEqual([]);
    await reapCampaigns(db, { staleSeconds: 0 });
    expect(await claimCampaigns(db, { claimedBy: 'd:2', limit: 10 })).toEqual([]);
    expect([...staged.simulator.ledger.receipts()]).toHaveLength(before);

    await goOn?.();
    const campaign = await seen(id);
    if (state === 'paused')
      await inTransaction(db, (tx) =>
        resumeCampaign(tx, tenant, { campaign, retryDeliveries: retryCampaignDeliveries }),
      );
    staged.published.length = 0;
    await staged.start(await claimOne(db));
    await staged.send(staged.published);
    await closeEnded(db);
    const receipts = [...staged.simulator.ledger.receipts()];
    expect([receipts.length, new Set(receipts.map(({ user }) => user)).size]).toEqual([PEOPLE, PEOPLE]);
    expect(await columnOf(db, 'select status from campaign')).toEqual(['sent']);
    expect([...staged.simulator.ledger.violations()]).toEqual([]);
  },
);

test.for(Object.keys(HALTS))(
  'a campaign of an account that is %s is cancelled at once, and stays so when the account goes on',
  async (halt) => {
    const [stop, goOn] = halting(halt);
    const { id } = await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, PEOPLE) });
    await staged.start(await claimOne(db));
    await staged.send(staged.published.slice(0, 1));
    await stop?.();
    const campaign = await seen(id);
    expect(
      await inTransaction(db, (tx) =>
        cancelCampaign(tx, tenant, { campaign, stopDeliveries: cancelCampaignDeliveries }),
      ),
    ).toMatchObject({ status: 'cancel' });
    await goOn?.();
    await staged.pass(3_600);
    await staged.sendDue();
    expect([...staged.simulator.ledger.receipts()]).toHaveLength(500);
  },
);
