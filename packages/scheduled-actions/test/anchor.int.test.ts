import type { Delay, Tenant } from '@dueline/contracts';
import { inTransaction, lockUsers } from '@dueline/db';
import {
  insertRow,
  insertTenant,
  insertUsers,
  lineUserId,
  lockWaiters,
  type TestDb,
  testDb,
} from '@dueline/db/testing';
import {
  finishActions,
  holdActions,
  type MovedAnchor,
  recomputeAnchored,
  scheduleAction,
} from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim, each, schedule, standAt } from './support.ts';

let own: TestDb;
let tenant: Tenant;
let bookingId: string;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db, { timezone: 'Asia/Tokyo' });
  await insertUsers(own.db, tenant, 2);
  const booking = await insertRow(own.db, 'booking', {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: lineUserId(1), name: 'cut' },
    starts_at: '2026-05-10T10:00:00Z',
  });
  bookingId = String(booking.id);
  await standAt(own.db, '2026-05-01T12:00:00Z');
});
afterEach(() => own[Symbol.asyncDispose]());

const somebodyWaits = () => lockWaiters(own.db);

type WhenPast = 'fire' | 'skip' | 'fail';
const aDayBefore = (whenPast: WhenPast = 'skip'): Delay => ({
  ...{ mode: 'relativeToDate', to: { bookingId }, offsetSeconds: -86_400, whenPast, reEvaluateConditions: false },
});
const birthday: Delay = {
  ...{ mode: 'relativeToDate', to: { attribute: 'birthday' }, offsetDays: 0, at: '09:00', whenPast: 'skip' },
  reEvaluateConditions: false,
};
const move = (startsAt: string) => own.db.$client.query('update booking set starts_at = $1', [startsAt]);
const moved = (changes: Partial<MovedAnchor> = {}): MovedAnchor => ({
  ...{ ...tenant, userId: lineUserId(1), anchor: { bookingId }, ...changes },
});
const recompute = async (...anchors: MovedAnchor[]) =>
  (await inTransaction(own.db, (tx) => recomputeAnchored(tx, anchors))).map(
    ({ result, reason }) => `${result}: ${reason}`,
  );
const at = (name: string) => `to_char(${name} at time zone 'UTC', 'MM-DD HH24:MI')`;
const STATE = `concat_ws('|', status, fence, attempt, ${at('execute_at')}, ${at('due_at')}, coalesce(cancel_reason, last_error, '-'))`;

const MOVES: [to: string, whenPast: WhenPast, told: string[], row: string][] = [
  ['2026-05-12T10:00:00Z', 'skip', ['moved: date_moved'], 'pending|1|0|05-11 10:00|05-11 10:00|-'],
  ['2026-05-02T12:00:00Z', 'fail', ['moved: date_moved'], 'pending|1|0|05-01 12:00|05-01 12:00|-'],
  ['2026-05-02T11:59:00Z', 'fire', ['due: date_past'], 'pending|1|0|05-01 12:00|05-01 11:59|-'],
  ['2026-05-02T11:59:00Z', 'skip', ['cancelled: date_past'], 'cancelled|1|0|05-09 10:00|05-01 11:59|date_past'],
  ['2026-05-02T11:59:00Z', 'fail', ['failed: date_past'], 'failed|2|1|05-09 10:00|05-01 11:59|date_past'],
  ['2026-05-10T10:00:00Z', 'skip', [], 'pending|0|0|05-09 10:00|05-09 10:00|-'],
];

test.for(MOVES)('[T11][T12] a booking moved to %s, when past %s: %j', async ([to, whenPast, told, row]) => {
  await schedule(own.db, tenant, { delay: aDayBefore(whenPast) });
  await move(to);
  expect(await recompute(moved(), moved())).toEqual(told);
  expect(await each(own.db, STATE)).toEqual([row]);
  expect(await recompute(moved())).toEqual([]);
});

test('[T12] what hangs on a booking ends with it, and says so', async () => {
  await schedule(own.db, tenant, { delay: aDayBefore() });
  await own.db.$client.query('update booking set cancelled_date = app_now()');
  expect(await recompute(moved())).toEqual(['cancelled: booking_cancelled']);
  expect(await each(own.db, STATE)).toEqual(['cancelled|1|0|05-09 10:00|05-09 10:00|booking_cancelled']);
});

test('[T11][T12] an attribute that is another date moves what hangs on it; one that is no date ends it', async () => {
  const set = (value: unknown) => own.db.$client.query(`update line_user set attributes = $1`, [{ birthday: value }]);
  const attribute = moved({ anchor: { attribute: 'birthday' } });
  await set('2026-06-01');
  await schedule(own.db, tenant, { delay: birthday });
  await set('2026-07-01');
  expect(await recompute(attribute)).toEqual(['moved: date_moved']);
  expect(await each(own.db, STATE)).toEqual(['pending|1|0|07-01 00:00|07-01 00:00|-']);
  await set('soon');
  expect(await recompute(attribute)).toEqual(['cancelled: date_gone']);
});

test('[T11] only what hangs on that date of that person of that account moves', async () => {
  await schedule(own.db, tenant, { delay: aDayBefore() });
  await schedule(own.db, tenant, { delay: { mode: 'normal', days: 3, reEvaluateConditions: false } });
  await move('2026-05-20T10:00:00Z');
  const other = await insertTenant(own.db);
  const strangers = [moved({ userId: lineUserId(2) }), moved(other), moved({ organizationId: other.organizationId })];
  expect(
    await recompute(...strangers, moved({ anchor: { attribute: bookingId } }), moved({ anchor: { bookingId: '999' } })),
  ).toEqual([]);
  expect(await recompute()).toEqual([]);
  expect(await recompute(moved())).toEqual(['moved: date_moved']);
  expect(await each(own.db, `execute_at::date::text`)).toEqual(['2026-05-19', '2026-05-04']);
});

test('[T11] a row whose ticket is on its way comes back with its new time, and the ticket is useless', async () => {
  await schedule(own.db, tenant, { delay: aDayBefore() });
  await standAt(own.db, '2026-05-09T10:00:00Z');
  const tickets = await claim(own.db);
  await move('2026-05-20T10:00:00Z');
  expect(await recompute(moved())).toEqual(['moved: date_moved']);
  expect(await each(own.db, STATE)).toEqual(['pending|2|0|05-19 10:00|05-19 10:00|-']);
  expect(await inTransaction(own.db, (tx) => holdActions(tx, tickets))).toEqual([]);
});

test('[T3] a row that is decided while its date moves is waited for, and stays done', async () => {
  await schedule(own.db, tenant, { delay: aDayBefore() });
  await standAt(own.db, '2026-05-09T10:00:00Z');
  const tickets = await claim(own.db);
  await move('2026-05-20T10:00:00Z');
  const recomputing = await inTransaction(own.db, async (tx) => {
    const [action] = await holdActions(tx, tickets);
    if (action === undefined) throw new Error('nothing held');
    const waiting = recompute(moved());
    await somebodyWaits();
    await finishActions(tx, [{ id: action.id, fence: action.fence, to: 'done' }]);
    return { waiting };
  });
  expect(await recomputing.waiting).toEqual([]);
  expect(await each(own.db, 'status')).toEqual(['done']);
});

test('[T1] a date that moves while its row is being made: the row has the new date, or is moved to it', async () => {
  const begun = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const scheduling = inTransaction(own.db, async (tx) => {
    await scheduleAction(tx, actionToSchedule(tenant, { delay: aDayBefore() })); // read the old date
    begun.resolve();
    await go.promise;
  });
  await begun.promise;
  await move('2026-05-20T10:00:00Z');
  const telling = inTransaction(own.db, async (tx) => {
    await lockUsers(tx, [moved()]);
    return recomputeAnchored(tx, [moved()]);
  });
  await somebodyWaits();
  go.resolve();
  await scheduling;
  expect(await telling).toMatchObject([{ result: 'moved' }]);
  expect(await each(own.db, `execute_at::date::text`)).toEqual(['2026-05-19']);
});

test('[T4] a retry of a row whose date stayed keeps its back-off', async () => {
  await schedule(own.db, tenant, { delay: aDayBefore() });
  await standAt(own.db, '2026-05-09T10:00:00Z');
  const [ticket] = await claim(own.db);
  if (ticket === undefined) throw new Error('nothing claimed');
  await inTransaction(own.db, (tx) => finishActions(tx, [{ ...ticket, to: 'pending', error: 'x', retryInMs: 60_000 }]));
  expect(await recompute(moved())).toEqual([]);
  expect(await each(own.db, STATE)).toEqual(['pending|2|1|05-09 10:01|05-09 10:00|x']);
});
