import { CAMPAIGN_INVARIANTS, claimCampaigns, resolveCampaign, resumeCampaign } from '@dueline/campaigns';
import { scheduleAsSeen } from '@dueline/campaigns/testing';
import { checkInvariants, inTransaction } from '@dueline/db';
import { columnOf } from '@dueline/db/testing';
import { announceDeliveries, retryCampaignDeliveries, settleDeliveries, startDeliveries } from '@dueline/deliveries';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { closeEnded } from '../src/close-campaigns.ts';
import { EDITED, OPERATIONS, type OperationName, type RaceOperation } from './campaign-race-operations.ts';
import {
  FIRST_FENCE,
  lookAt,
  openStage,
  type Race,
  type Raced,
  race,
  type Seen,
  type Stage,
  type StateName,
} from './campaign-race-stage.ts';

const NAMES = Object.keys(OPERATIONS) as OperationName[];
const operation = (name: OperationName): RaceOperation => OPERATIONS[name];

/** The states in which two meet: those in which each would act; where there are none, one in which the first would, and one of the second. */
function statesOf(first: OperationName, second: OperationName): StateName[] {
  const [ones, others] = [operation(first).does, operation(second).does];
  const common = ones.filter((state) => others.includes(state));
  return common.length > 0 ? common : [...new Set([...ones.slice(0, 1), ...others.slice(0, 1)])];
}

const RACES: Race[] = NAMES.flatMap((first) =>
  NAMES.flatMap((second) => statesOf(first, second).map((state) => ({ first, second, state }))),
);

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

/** Who waited for a campaign that another held, and who passed by one. */
const waiters = new Set<string>();
const passersBy = new Set<string>();

test.for(RACES)('a campaign, $state: $first, and before its commit $second', async (about) => {
  const raced = await race(stage, about);
  checkWinners(about, raced);
  checkStop(about, raced);
  await checkEnd(about, raced);
  if (raced.held) (raced.waited ? waiters : passersBy).add(about.second);
});

test('every operation has met what another held: those that skip it never waited, the others did', () => {
  const skipping = NAMES.filter((name) => operation(name).held === 'skips');
  const waiting = NAMES.filter((name) => operation(name).held === 'waits');
  expect([...waiters].filter((name) => skipping.includes(name as OperationName))).toEqual([]);
  expect([...waiters]).toEqual(expect.arrayContaining(waiting));
  expect([...passersBy]).toEqual(expect.arrayContaining(skipping));
});

test('no race was a deadlock [I27]', async () => {
  expect(
    await columnOf(stage.own.db, 'select deadlocks from pg_stat_database where datname = current_database()'),
  ).toEqual(['0']);
});

/** Who came first did as if alone; who came second judged what that left, or passed by what was held, or was apart from it. */
function checkWinners({ first, second, state }: Race, { did, held, waited, before, after }: Raced): void {
  expect(did[0], 'the first').toBe(operation(first).does.includes(state));
  const { held: manner, can } = operation(second);
  const isAlone = operation(second).does.includes(state);
  if (!did[0]) expect(did[1], 'the second, alone').toBe(isAlone);
  if (manner === 'skips' && held && !waited && did[0] && locksCampaign(first))
    expect(did[1], 'it passes by').toBe(false);
  if (waited && did[0] && !did[1]) expect(can(after, before), 'what it found let it do nothing').toBe(false);
  if (waited && did[1]) expect(isAlone || can(left(first, before), before), 'what it found let it act').toBe(true);
  expect(after.fence - FIRST_FENCE, 'every move has its fence').toBe(
    Number(did[0] && moves(first)) + Number(did[1] && moves(second)),
  );
}

const moves = (name: OperationName) => !['chunk start', 'verdict', 'verdict that it reached nobody'].includes(name);
const locksCampaign = (name: OperationName) => moves(name) || name === 'chunk start';
/** What an operation leaves of the campaign's request and status, for whoever comes next and asks for no fence. */
const left = (first: OperationName, before: Seen): Seen =>
  first === 'cancel' ? { ...before, status: 'paused', isStopping: true } : before;

/** After a pause or a cancel nothing begins that had not begun before. */
function checkStop({ first, second }: Race, { did, before, after }: Raced): void {
  const stops = (name: OperationName) => name === 'pause' || name === 'cancel';
  if (stops(first) && did[0] && second === 'chunk start') expect(did[1]).toBe(false);
  if (first === 'cancel' && did[0]) {
    expect(after.attempts).toBe(before.attempts);
    if (second !== 'verdict that it reached nobody') expect(after.request).not.toBe('planned');
  }
  if (stops(second) && did[1] && first === 'chunk start')
    expect(after).toMatchObject({ request: 'sending', status: 'paused' });
}

/** People and workers do what is left to do; then nothing is under way, nobody got it twice, and what was cancelled stays so. */
async function checkEnd({ first, second }: Race, { scene, did }: Raced): Promise<void> {
  const has = (name: OperationName) => (first === name && did[0]) || (second === name && did[1]);
  await goOn(scene);
  const end = await lookAt(scene.db, scene);
  expect(end.status).toBe(has('cancel') ? 'cancel' : end.isStopping ? 'cancel' : 'sent');
  if (has('edit') && !has('cancel')) {
    expect(await columnOf(scene.db, `select body::jsonb -> 'messages' -> 0 ->> 'text' from delivery`)).toEqual([
      EDITED,
    ]);
  }
  const accepted = await columnOf(
    scene.db,
    `select count(*) from delivery_attempt where outcome = 'accepted' group by retry_key`,
  );
  expect(accepted.every((count) => count === '1')).toBe(true);
  const limits = { leaseOverSeconds: 0, silentSeconds: 0, overdueSeconds: 0, historyDays: 10_000 };
  const audit = await checkInvariants(scene.db, CAMPAIGN_INVARIANTS, limits);
  expect(audit.filter(({ violations }) => violations > 0)).toEqual([]);
}

async function goOn(scene: Raced['scene']): Promise<void> {
  const { db, tenant, seen } = scene;
  for (let round = 0; round < 5; round += 1) {
    const { status, isStopping, fence } = await lookAt(db, scene);
    if (status === 'sent' || status === 'cancel') return;
    const campaign = { id: seen.id, fence: String(fence) };
    if (status === 'draft') await scheduleAsSeen(db, tenant, { campaign, startDate: '2026-01-01T00:00:00Z' });
    if (status === 'paused' && !isStopping)
      await inTransaction(db, (tx) =>
        resumeCampaign(tx, tenant, { campaign, retryDeliveries: retryCampaignDeliveries }),
      );
    if (status === 'needs_attention') await inTransaction(db, (tx) => resolveCampaign(tx, tenant, { campaign }));
    if (status === 'sending') await OPERATIONS.start.perform({ ...scene, seen: campaign });
    for (const { ticket } of await claimCampaigns(db, { claimedBy: 'd:2', limit: 10 }))
      await OPERATIONS.start.perform({ ...scene, seen: { id: ticket.campaignId, fence: ticket.fence } });
    await send(scene);
    await closeEnded(db);
  }
}

/** What is owned is taken back by its lease, and all that is due is sent and accepted. */
async function send({ db, tenant }: Raced['scene']): Promise<void> {
  await db.$client.query(
    `update delivery set status = 'planned', fence = fence + 1, lease_until = null, next_attempt_at = app_now() where status = 'sending'`,
  );
  await db.$client.query(
    `update delivery set next_attempt_at = app_now(), published_at = null where status = 'planned'`,
  );
  const tickets = await announceDeliveries(db, { limit: 10, againAfterSeconds: 0 });
  const start = { claimedBy: 'line-delivery/test:2', leaseSeconds: 600, settleSeconds: 0 };
  const started = await startDeliveries(db, tenant, { tickets, start });
  const result = { outcome: 'accepted', httpStatus: 200, lineRequestId: 'y' } as const;
  await settleDeliveries(
    db,
    started.map((delivery) => ({ started: delivery, result })),
  );
}
