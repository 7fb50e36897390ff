import type { Tenant } from '@dueline/contracts';
import { inTransaction, openDatabase } from '@dueline/db';
import { columnOf, insertTenant, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import {
  type AttemptOutcome,
  announceDeliveries,
  closeOverdueDeliveries,
  reapDeliveries,
  reapEarlierBoots,
  settleDeliveries,
  unpublishDeliveries,
} from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { TransientError } from '@dueline/kernel';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { create, HOUR, letWaitsPass, mustStart, plan, settle, start, startNow, stateOf } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const query = (text: string, values: unknown[] = []) => own.db.$client.query(text, values);
const endLeases = () =>
  query(`update delivery set lease_until = clock_timestamp() - interval '1 s' where status = 'sending'`);
const closeOverdue = () => inTransaction(own.db, closeOverdueDeliveries);
const ageAttempts = () => query(`update delivery_attempt set started_at = started_at - interval '1 hour'`);

const SETTLED: [AttemptOutcome, string][] = [
  ['accepted', 'accepted 2 - accepted'],
  ['already', 'accepted 2 - already'],
  ['refused', 'refused 2 refused refused'],
  ['ambiguous', 'planned 2 ambiguous ambiguous'],
  ['throttled', 'planned 2 throttled throttled'],
];

test.for(SETTLED)('%s settles the first attempt as: %s', async ([outcome, state]) => {
  const { id } = await plan(own.db, tenant);
  const started = await mustStart(own.db, tenant, id);
  const result = {
    outcome,
    httpStatus: 200,
    lineRequestId: 'request',
    acceptedRequestId: 'earlier',
    detail: 'a\u0000b \ud800',
  };
  expect(await settle(own.db, started, result)).toBe(true);
  expect(await stateOf(own.db, id)).toBe(state);
  expect(
    await columnOf(own.db, `select concat_ws(' ', http_status, line_request_id, detail) from delivery_attempt`),
  ).toEqual(['200 request a\uFFFDb \uFFFD']);
  expect(await settle(own.db, started, { outcome: 'refused' })).toBe(false); // settled once
  expect(await stateOf(own.db, id)).toBe(state);
});

test('an owner that lost its row writes the attempt only [SEM-040, SEM-067]', async () => {
  const { id } = await plan(own.db, tenant);
  const zombie = await mustStart(own.db, tenant, id);
  await endLeases();
  expect(await reapDeliveries(own.db)).toBe(1);
  expect(await settle(own.db, zombie, { outcome: 'refused' })).toBe(false);
  expect(await stateOf(own.db, id)).toBe('planned 2 - refused');
});

test('an owner that lost its row and learns that LINE accepted it ends the row as accepted, while nobody owns it', async () => {
  const { id } = await plan(own.db, tenant);
  const zombie = await mustStart(own.db, tenant, id);
  await endLeases();
  await reapDeliveries(own.db);
  expect(await settle(own.db, zombie, { outcome: 'accepted', lineRequestId: 'late' })).toBe(true);
  expect(await stateOf(own.db, id)).toBe('accepted 3 - accepted');
});

/** A delivery whose first owner learns, late, that LINE accepted it, while its second owner is asking. */
async function provenLate(outcome: 'accepted' | 'already') {
  const { id } = await plan(own.db, tenant);
  const zombie = await mustStart(own.db, tenant, id);
  await endLeases();
  await reapDeliveries(own.db);
  await ageAttempts();
  const second = await mustStart(own.db, tenant, id);
  expect(await settle(own.db, zombie, { outcome, lineRequestId: 'proof' })).toBe(false);
  return { id, second };
}

const requestIdOf = async (id: string) => {
  const ids = await columnOf(own.db, 'select line_request_id from delivery where id = $1', [id]);
  return ids[0];
};

test.for(
  (['accepted', 'already'] as const).flatMap((proof) =>
    (['ambiguous', 'refused', 'throttled', 'auth', 'not_reached'] as const).map((answer) => [proof, answer] as const),
  ),
)(
  'a late proof (%s) waits for who owns the row: %s ends as accepted, under the id of the proof',
  async ([proof, answer]) => {
    const { id, second } = await provenLate(proof);
    expect(await settle(own.db, second, { outcome: answer, lineRequestId: 'of another answer' })).toBe(true);
    expect(await stateOf(own.db, id)).toBe(`accepted 4 - ${proof},${answer}`);
    expect(await requestIdOf(id)).toBe('proof');
  },
);

test.for(['accepted', 'already'] as const)(
  'what is proven (%s) never ends as unknown, even if nobody may ask again',
  async (proof) => {
    const { id } = await provenLate(proof);
    await endLeases();
    await reapDeliveries(own.db);
    await moveProductTime(own.db, 24 * HOUR);
    expect(await closeOverdue()).toHaveLength(1);
    expect(await stateOf(own.db, id)).toMatch(/^accepted /);
    expect(await requestIdOf(id)).toBe('proof');
  },
);

test('a reaped delivery is ambiguous, and a later refusal does not end it', async () => {
  const { id } = await plan(own.db, tenant);
  await mustStart(own.db, tenant, id);
  await endLeases();
  expect(await reapDeliveries(own.db)).toBe(1);
  expect(await reapDeliveries(own.db)).toBe(0);
  await ageAttempts();
  const second = await mustStart(own.db, tenant, id);
  expect(second).toMatchObject({ attemptNo: 2, verdict: 'ambiguous' });
  await settle(own.db, second, { outcome: 'refused' });
  expect(await stateOf(own.db, id)).toBe('planned 4 refused ?,refused');
  await letWaitsPass(own.db);
  expect(await mustStart(own.db, tenant, id)).toMatchObject({ attemptNo: 3, verdict: 'ambiguous' });
});

test.for([
  ['sender:b', 'sender:eu:a', 0],
  ['sender-1:b', 'sender-11:a', 0],
  ['sender_1:b', 'sender-1:a', 0],
  ['sender-1', 'sender-2:a', 0],
  ['sender-1:a', 'sender-1:a', 0],
  ['sender:eu:b', 'sender:eu:a', 1],
] as const)('%s starting anew takes back what %s was sending: %i', async ([mine, earlier, taken]) => {
  const ticket = await plan(own.db, tenant);
  await start(own.db, tenant, { tickets: [ticket], claimedBy: earlier });
  expect(await reapEarlierBoots(own.db, { claimedBy: mine })).toBe(taken);
});

const announce = () => announceDeliveries(own.db, { limit: 500, againAfterSeconds: 60 });
const passAnnounced = (seconds: number) =>
  query('update delivery set published_at = published_at - make_interval(secs => $1)', [seconds]);

test('an announced delivery that nobody took is announced again after 60, 120, 240 … 600 s, always with the same fence', async () => {
  const created = await plan(own.db, tenant);
  const { logicalId: _, isWebhook: __, ...ticket } = created;
  expect(await announce()).toEqual([]); // its creator publishes it
  for (const wait of [60, 120, 240, 480, 600, 600]) {
    await passAnnounced(wait - 5);
    expect(await announce()).toEqual([]);
    await passAnnounced(6);
    expect(await announce()).toEqual([{ ...ticket, isChunk: false, isWebhook: false }]);
  }
  await unpublishDeliveries(own.db, [{ ...ticket, fence: '9' }]);
  expect(await announce()).toEqual([]);
  await unpublishDeliveries(own.db, [ticket]);
  await unpublishDeliveries(own.db, []);
  expect(await announce()).toEqual([{ ...ticket, isChunk: false, isWebhook: false }]);
  expect(await start(own.db, tenant, { tickets: [ticket] })).toHaveLength(1); // the first ticket is still good
});

test('announcers at once announce each due delivery once; what is not due, started or settled they leave', async () => {
  const created = await create(
    own.db,
    Array.from({ length: 300 }, () => deliveryToCreate(tenant)),
  );
  await unpublishDeliveries(own.db, created);
  await start(own.db, tenant, { tickets: created.slice(0, 10) });
  await query(`update delivery set next_attempt_at = app_now() + interval '1 hour' where id = $1`, [created[10]?.id]);
  const found = (await Promise.all(Array.from({ length: 6 }, announce))).flat();
  expect(found.map(({ id }) => id).sort()).toEqual(
    created
      .slice(11)
      .map(({ id }) => id)
      .sort(),
  );
});

test('a settled attempt that is planned again is announced when its wait is over, under its new fence', async () => {
  const { id } = await plan(own.db, tenant);
  await settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'ambiguous' });
  expect(await announce()).toEqual([]);
  await letWaitsPass(own.db);
  expect(await announce()).toEqual([{ ...tenant, id, fence: '2', isChunk: false, isWebhook: false }]);
});

test('a clean delivery expires at deliver_until, not before', async () => {
  const { id } = await plan(own.db, tenant);
  await moveProductTime(own.db, 23.9 * HOUR);
  expect(await closeOverdue()).toHaveLength(0);
  await moveProductTime(own.db, 0.1 * HOUR);
  expect(await closeOverdue()).toHaveLength(1);
  expect(await stateOf(own.db, id)).toBe('expired 1 too_late');
  expect(await closeOverdue()).toHaveLength(0);
});

test('an ambiguous delivery becomes unknown 23 hours after its first attempt, not before, however late it is', async () => {
  const { id } = await plan(own.db, tenant);
  await moveProductTime(own.db, 2 * HOUR);
  await settle(own.db, await mustStart(own.db, tenant, id), { outcome: 'ambiguous' });
  await moveProductTime(own.db, 22.9 * HOUR); // past deliver_until
  expect(await closeOverdue()).toHaveLength(0);
  await moveProductTime(own.db, 0.2 * HOUR);
  expect(await startNow(own.db, tenant, id)).toBeUndefined();
  const userId = `U${'1'.padStart(32, '0')}`;
  expect(await closeOverdue()).toEqual([
    { ...tenant, id, status: 'unknown', userId, isWebhook: false, isLastMenu: false },
  ]);
  expect(await stateOf(own.db, id)).toBe('unknown 3 ambiguous ambiguous');
});

test('five hundred late deliveries in doubt do not keep a clean one from expiring', async () => {
  const created = await create(
    own.db,
    Array.from({ length: 501 }, () => deliveryToCreate(tenant)),
  );
  await start(own.db, tenant, { tickets: created.slice(0, 500) });
  await endLeases();
  expect(await reapDeliveries(own.db)).toBe(500);
  await query(`update delivery set deliver_until = app_now()`);
  expect(await closeOverdue()).toHaveLength(1);
});

test('a batch settles each attempt by its own outcome, and tells which rows moved', async () => {
  const [one, two, lost] = [await plan(own.db, tenant), await plan(own.db, tenant), await plan(own.db, tenant)];
  const started = await start(own.db, tenant, { tickets: [one, two, lost] });
  await query(`update delivery set status = 'planned', fence = fence + 1, lease_until = null where id = $1`, [lost.id]);
  const outcomes = ['accepted', 'refused', 'refused'] as const;
  const moved = await settleDeliveries(
    own.db,
    started.map((delivery, at) => ({ started: delivery, result: { outcome: outcomes[at] ?? 'ambiguous' } })),
  );
  expect([...moved].sort()).toEqual([one.id, two.id].sort());
  expect(await Promise.all([one, two, lost].map(({ id }) => stateOf(own.db, id)))).toEqual([
    'accepted 2 - accepted',
    'refused 2 refused refused',
    'planned 2 - refused',
  ]);
  expect(await settleDeliveries(own.db, [])).toEqual(new Set());
});

test('a database that is away leaves a start and a settlement to be repeated', async () => {
  const { id } = await plan(own.db, tenant);
  const started = await mustStart(own.db, tenant, id);
  const url = new URL(own.url);
  url.port = '1';
  const away = openDatabase({ url: url.href, applicationName: 'test', maxConnections: 1, onError: () => undefined });
  await expect(settle(away.db, started, { outcome: 'accepted' })).rejects.toBeInstanceOf(TransientError);
  await expect(start(away.db, tenant, { tickets: [{ id, fence: '1' }] })).rejects.toBeInstanceOf(TransientError);
  await away.close();
  expect(await settle(own.db, started, { outcome: 'accepted' })).toBe(true);
});
