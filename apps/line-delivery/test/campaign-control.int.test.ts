import { listAttention } from '@dueline/attention';
import {
  type ControlOutcome,
  cancelCampaign,
  getCampaignResult,
  pauseCampaign,
  reapCampaigns,
  resolveCampaign,
  resumeCampaign,
  retryCampaign,
  showCampaign,
} from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, inTransaction, type Tx } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import {
  cancelCampaignDeliveries,
  closeOverdueDeliveries,
  retryCampaignDeliveries,
  settleDeliveries,
  startDeliveries,
} from '@dueline/deliveries';
import { addAudienceMembers } from '@dueline/recipients';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { closeEnded } from '../src/close-campaigns.ts';
import { audienceOf, campaignSeen, claimOne, membersOf, stage } from './campaign-stage.ts';

type Staged = Awaited<ReturnType<typeof stage>>;
let database: Awaited<ReturnType<typeof testDb>>;
let db: Db;
let staged: Staged;
let tenant: Tenant;
beforeEach(async () => {
  database = await testDb();
  db = database.db;
  staged = await stage(db);
  tenant = staged.tenant;
});
afterEach(() => database[Symbol.asyncDispose]());

/** A started campaign to so many, and its chunks' tickets. */
async function started(people: number, schedule: { notAfter?: string } = {}) {
  const { id } = await dueCampaign(db, tenant, { audienceId: await audienceOf(db, tenant, people), ...schedule });
  await staged.start(await claimOne(db));
  return { id, chunks: staged.published.splice(0) };
}

const seen = (id: string) => campaignSeen(db, tenant, id);
const change = async (id: string, make: (tx: Tx, campaign: Ticket) => Promise<ControlOutcome>) => {
  const campaign = await seen(id);
  return inTransaction(db, (tx) => make(tx, campaign));
};
const cancel = (id: string) =>
  change(id, (tx, campaign) => cancelCampaign(tx, tenant, { campaign, stopDeliveries: cancelCampaignDeliveries }));
const pause = (id: string) => change(id, (tx, campaign) => pauseCampaign(tx, tenant, { campaign }));
const resume = (id: string) =>
  change(id, (tx, campaign) => resumeCampaign(tx, tenant, { campaign, retryDeliveries: retryCampaignDeliveries }));
const retry = (id: string, options: { acceptDuplicates?: boolean } = {}) =>
  change(id, async (tx, campaign) => {
    const all = { campaign, acceptDuplicates: false, retryDeliveries: retryCampaignDeliveries, ...options };
    return (await retryCampaign(tx, tenant, all)).outcome;
  });

const states = () => columnOf(db, `select concat_ws(' ', status, reason_code) from campaign order by id`);
const requests = () =>
  columnOf(db, `select concat(status, ' ', count(*)) from delivery group by status order by status`);
const receipts = () => [...staged.simulator.ledger.receipts()].length;
const keysSeen = () => new Set([...staged.simulator.ledger.requests()].map(({ retryKey }) => retryKey)).size;
const items = async () =>
  (await listAttention(db, tenant)).map(({ kind, reasonCode }) => `${kind} ${reasonCode}`).sort();

/** Starts these and leaves them on their way; `answer` writes what LINE said. */
async function onTheirWay(tickets: readonly Ticket[]) {
  const start = { claimedBy: 'line-delivery/test:1', leaseSeconds: 60, settleSeconds: 0 };
  const owned = await startDeliveries(db, tenant, { tickets, start });
  return async (outcome: 'not_reached' | 'ambiguous' | 'refused') => {
    const result = { outcome, ...(outcome === 'refused' && { httpStatus: 400 }) };
    await settleDeliveries(
      db,
      owned.map((delivery) => ({ started: delivery, result })),
    );
    return closeEnded(
      db,
      owned.flatMap(({ campaignId }) => campaignId ?? []),
    );
  };
}

test('a campaign that is cancelled at 30 % sends nothing more, and its counts are those of LINE [T23]', async () => {
  const { id, chunks } = await started(1_250);
  await staged.send(chunks.slice(0, 1));
  expect(await cancel(id)).toMatchObject({ result: 'changed', before: 'sending', status: 'cancel', inFlight: 0 });
  const keysBefore = keysSeen();

  expect(await staged.send(chunks)).toMatchObject({ outcome: 'discarded' });
  await staged.pass(3_600);
  await staged.sendDue();

  expect(keysSeen()).toBe(keysBefore);
  expect(receipts()).toBe(500);
  expect([...staged.simulator.ledger.violations()]).toEqual([]);
  expect(await getCampaignResult(db, { campaignId: id })).toEqual({
    ...{ accepted: 500, cancelled: 750, invalid: 0, refused: 0, unknown: 0, expired: 0, open: 0 },
  });
  expect(await states()).toEqual(['cancel by_person']);
  expect(await items()).toEqual([]);
});

test('a cancel is effective at once for what has not started, and over when what is on its way has an answer [T23]', async () => {
  const { id, chunks } = await started(1_250);
  await staged.send(chunks.slice(0, 1));
  const answer = await onTheirWay(chunks.slice(1, 2));

  expect(await cancel(id)).toMatchObject({ result: 'changed', status: 'paused', inFlight: 1 });
  expect(await showCampaign(db, tenant, id)).toMatchObject({ inFlight: 1, cancelRequestedAt: expect.any(String) });
  expect(await requests()).toEqual(['accepted 1', 'cancelled 1', 'sending 1']);
  expect(await closeEnded(db)).toEqual([]);
  expect(await cancel(id)).toMatchObject({ refusal: 'stopping' });
  expect(await resume(id)).toMatchObject({ refusal: 'stopping' });

  expect(await answer('ambiguous')).toEqual([]);
  await staged.pass(180);
  await staged.sendDue(); // asked for under the same key, in spite of the cancel
  expect(await requests()).toEqual(['accepted 2', 'cancelled 1']);
  expect(await states()).toEqual(['cancel by_person']);
  expect(receipts()).toBe(1_000);
  expect(keysSeen()).toBe(2);
});

test.for([
  ['reached nobody', 'not_reached', ['accepted 1', 'cancelled 2']],
  ['was refused and split', 'refused', ['accepted 1', 'cancelled 3', 'split 1']],
] as const)('what was on its way at a cancel and %s is not sent again', async ([, outcome, end]) => {
  const { id, chunks } = await started(1_250);
  await staged.send(chunks.slice(0, 1));
  const answer = await onTheirWay(chunks.slice(1, 2));
  await cancel(id);
  expect(await answer(outcome)).toEqual([expect.objectContaining({ id, status: 'cancel' })]);
  expect(await requests()).toEqual(end);
  await staged.pass(3_600);
  await staged.sendDue();
  expect(receipts()).toBe(500);
  expect(await getCampaignResult(db, { campaignId: id })).toMatchObject({ accepted: 500, cancelled: 750, open: 0 });
});

test('what is in doubt for 23 hours when its campaign is cancelled ends as unknown, and then the campaign as cancelled', async () => {
  const { id, chunks } = await started(600);
  const answer = await onTheirWay(chunks.slice(0, 1));
  await answer('ambiguous');
  expect(await cancel(id)).toMatchObject({ status: 'paused', inFlight: 0 });
  expect(await closeEnded(db)).toEqual([]);
  await staged.pass(23 * 3_600 + 1);
  await inTransaction(db, closeOverdueDeliveries);
  expect(await closeEnded(db)).toMatchObject([{ status: 'cancel' }]);
  expect(await getCampaignResult(db, { campaignId: id })).toMatchObject({ unknown: 500, cancelled: 100 });
});

test('a pause lets nothing begin, and a resumed campaign goes on with what is left, each person once', async () => {
  const { id, chunks } = await started(1_250);
  await staged.send(chunks.slice(0, 1));
  const answer = await onTheirWay(chunks.slice(1, 2));
  expect(await pause(id)).toMatchObject({ status: 'paused', inFlight: 1 });
  expect(await staged.send(chunks.slice(2))).toMatchObject({ outcome: 'discarded' });
  await answer('ambiguous');
  await staged.pass(3_600);
  await staged.sendDue(); // the one in doubt alone
  expect(await requests()).toEqual(['accepted 2', 'planned 1']);
  expect(await reapCampaigns(db, { staleSeconds: 0 })).toBe(0);

  expect(await resume(id)).toMatchObject({ before: 'paused', status: 'scheduled' });
  expect(await staged.start(await claimOne(db))).toMatchObject({ detail: { result: 'resumed', chunks: 1 } });
  await staged.send(staged.published);
  expect(await states()).toEqual(['sent']);
  expect(receipts()).toBe(1_250);
  expect(keysSeen()).toBe(3);
});

test.for([
  ['goes out when it goes on', {}, 1_250],
  ['does not go out after the last instant of the campaign', { notAfter: '2999-01-01T00:00:00Z' }, 500],
] as const)('what grew too old in a pause %s', async ([, schedule, reached]) => {
  const { id, chunks } = await started(1_250, schedule);
  await staged.send(chunks.slice(0, 1));
  await pause(id);
  await db.$client.query(`update delivery set deliver_until = app_now() where status = 'planned'`);
  await inTransaction(db, closeOverdueDeliveries);
  expect(await requests()).toEqual(['accepted 1', 'expired 2']);

  await resume(id);
  await staged.start(await claimOne(db));
  await staged.send(staged.published);
  await closeEnded(db);
  expect(receipts()).toBe(reached);
  expect(await states()).toEqual([reached === 500 ? 'needs_attention chunk_not_sent' : 'sent']);
});

test('a start that meets more people than were confirmed tells a person', async () => {
  const audienceId = await audienceOf(db, tenant, 2);
  await dueCampaign(db, tenant, { audienceId });
  await audienceOf(db, tenant, 3);
  await addAudienceMembers(db, tenant, { audienceId, userIds: membersOf(3) });
  await staged.start(await claimOne(db));
  expect([await states(), await items()]).toEqual([
    ['needs_attention more_than_confirmed'],
    ['campaign_not_sent more_than_confirmed'],
  ]);
});

/** One chunk was accepted, one refused, and of one nobody can learn what became of it. */
async function needsAPerson(): Promise<string> {
  const { id, chunks } = await started(1_250);
  await staged.send(chunks.slice(0, 1));
  await db.$client.query(
    `update delivery set status = 'sending', fence = fence + 1, lease_until = clock_timestamp() where chunk_no > 0`,
  );
  await db.$client.query(
    `update delivery set status = case chunk_no when 1 then 'refused' else 'unknown' end, lease_until = null, fence = fence + 1, reason_code = 'x' where chunk_no > 0`,
  );
  await closeEnded(db);
  expect(await states()).toEqual(['needs_attention chunk_unknown']);
  expect(await items()).toEqual(['campaign_not_sent chunk_unknown']);
  return id;
}

test('a retry sends only what failed again, under new keys, and what may have arrived only if duplicates are accepted', async () => {
  const id = await needsAPerson();
  const goOn = async () => {
    await staged.start(await claimOne(db));
    await staged.send(staged.published.splice(0));
  };
  expect(await retry(id)).toMatchObject({ before: 'needs_attention', status: 'scheduled' });
  await goOn();
  expect([receipts(), keysSeen()]).toEqual([1_000, 2]);
  expect(await states()).toEqual(['needs_attention chunk_unknown']);

  expect(await retry(id)).toMatchObject({ refusal: 'nothing_to_retry' });
  expect(await retry(id, { acceptDuplicates: true })).toMatchObject({ status: 'scheduled' });
  await goOn();
  expect([receipts(), keysSeen()]).toEqual([1_250, 3]);
  expect(await states()).toEqual(['sent']);
  expect(await columnOf(db, 'select epoch from delivery order by chunk_no')).toEqual(['1', '2', '2']);
});

test('a campaign that needs a person is taken as it is, or cancelled, and sends nothing more', async () => {
  const id = await needsAPerson();
  expect(await change(id, (tx, campaign) => resolveCampaign(tx, tenant, { campaign }))).toMatchObject({
    status: 'sent',
  });
  await staged.pass(3_600);
  await staged.sendDue();
  expect(receipts()).toBe(500);
  expect(await requests()).toEqual(['accepted 1', 'refused 1', 'unknown 1']);
});
