import type { Tenant, WaitFor } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { decideBranches, finishActions, holdActions, lookForFacts, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { insertFact, insertThings, waitingFor } from './facts.ts';
import { claim, each, schedule, standAt } from './support.ts';

const BEGIN = '2026-05-01T12:00:00Z';
const DURING = '2026-05-01T12:00:30Z';
const DEADLINE = '2026-05-01T12:01:00Z';

let shared: TestDb;
let tenant: Tenant;
let other: Tenant;
let things: Awaited<ReturnType<typeof insertThings>>;

beforeAll(async () => {
  shared = await testDb();
  tenant = await insertTenant(shared.db);
  other = await insertTenant(shared.db);
  await insertUsers(shared.db, tenant, 2);
  things = await insertThings(shared.db, tenant);
});
afterAll(() => shared[Symbol.asyncDispose]());
beforeEach(async () => {
  await shared.db.$client.query(
    `truncate link_click, form_submission, booking_event, friend_track_event, attribute_change, event_outbox;
     delete from scheduled_action`,
  );
  await standAt(shared.db, BEGIN);
});

type Fact = Parameters<typeof insertFact>[2];
const click = (changes: object = {}): Fact => ({ table: 'link_click', tracked_link_id: things.linkId, ...changes });
const submission = (): Fact => ({ table: 'form_submission', form_id: things.formId });
const booking = (type: string): Fact => ({ table: 'booking_event', booking_id: things.bookingId, type });
const change = (name: string): Fact => ({ table: 'attribute_change', changed: { [name]: { to: 1 } } });
const friend = (type: string): Fact => ({ table: 'friend_track_event', type });

const MEETINGS: [name: string, wait: () => WaitFor, fact: () => Fact, branch: string | null][] = [
  ['a click on this link', () => ({ source: 'link', refId: things.linkId }), click, 'clicked'],
  ['a click on any link', () => ({ source: 'link' }), click, 'clicked'],
  ['a click, with a branch of its own', () => ({ source: 'link', branch: 'yes' }), click, 'yes'],
  ['a click on another link', () => ({ source: 'link', refId: '999' }), click, null],
  ['a click by a robot', () => ({ source: 'link' }), () => click({ is_robot: true }), null],
  ['a click by somebody else', () => ({ source: 'link' }), () => click({ user_id: lineUserId(2) }), null],
  ['a submission of this form', () => ({ source: 'form', refId: things.formId }), submission, 'submitted'],
  ['a submission of another form', () => ({ source: 'form', refId: '999' }), submission, null],
  ['a submission where a click is waited for', () => ({ source: 'link' }), submission, null],
  ['a booking made', () => ({ source: 'booking' }), () => booking('created'), 'booked'],
  [
    'a booking made, this one',
    () => ({ source: 'booking', refId: things.bookingId }),
    () => booking('created'),
    'booked',
  ],
  ['a booking cancelled', () => ({ source: 'booking' }), () => booking('cancelled'), null],
  ['the attribute changed', () => ({ source: 'attribute', refId: 'tier' }), () => change('tier'), 'changed'],
  [
    'an attribute of a strange name changed',
    () => ({ source: 'attribute', refId: '__proto__ ?|' }),
    () => change('__proto__ ?|'),
    'changed',
  ],
  ['another attribute changed', () => ({ source: 'attribute', refId: 'tier' }), () => change('city'), null],
  ['the person followed', () => ({ source: 'friend' }), () => friend('follow'), 'followed'],
  ['the person left', () => ({ source: 'friend' }), () => friend('unfollow'), null],
  ['at the instant the wait began', () => ({ source: 'link' }), () => click({ occurred_at: BEGIN }), 'clicked'],
  [
    'just before the wait began',
    () => ({ source: 'link' }),
    () => click({ occurred_at: '2026-05-01T11:59:59.999999Z' }),
    null,
  ],
  [
    'just before the deadline',
    () => ({ source: 'link' }),
    () => click({ occurred_at: '2026-05-01T12:00:59.999999Z' }),
    'clicked',
  ],
  ['at the instant of the deadline', () => ({ source: 'link' }), () => click({ occurred_at: DEADLINE }), null],
];

/** Claims and decides what is due, as a worker does, and gives the branches by id order. */
async function decideDue(): Promise<string[]> {
  const tickets = await claim(shared.db);
  return inTransaction(shared.db, async (tx) => {
    const branched = await decideBranches(tx, await holdActions(tx, tickets));
    await finishActions(
      tx,
      branched.map(({ id, fence, branch }) => ({ id, fence, branch, to: 'done' })),
    );
    return branched.map(({ branch }) => branch);
  });
}

test.for(MEETINGS)('[T3] a last look, when there was %s, leads to the branch %3$s', async ([, wait, fact, branch]) => {
  await schedule(shared.db, tenant, { delay: waitingFor(wait()) });
  await insertFact(shared.db, tenant, { occurred_at: DURING, ...fact() });
  await standAt(shared.db, DEADLINE);
  expect(await decideDue()).toEqual([branch ?? 'expired']);
  expect(await each(shared.db, `status || ' ' || branch`)).toEqual([`done ${branch ?? 'expired'}`]);
});

test.for(MEETINGS)(
  '[T10] a fact that is older than its row, %s, makes it due: %3$s',
  async ([, wait, fact, branch]) => {
    await insertFact(shared.db, tenant, { occurred_at: DURING, ...fact() });
    await schedule(shared.db, tenant, { delay: waitingFor(wait()) });
    expect(await each(shared.db, `concat_ws(' ', status, branch, lane, fence, execute_at = app_now())`)).toEqual([
      branch === null ? 'pending 1 0 f' : `pending ${branch} 0 1 t`,
    ]);
    expect(await lookForFacts(shared.db)).toEqual([]); // a wait goes one way once
  },
);

test('[T3] the earliest of several facts decides, whatever was told first; of two at once the one named first', async () => {
  const waits: WaitFor[] = [{ source: 'form' }, { source: 'link' }, { source: 'friend' }];
  await schedule(shared.db, tenant, { delay: waitingFor(...waits) });
  await insertFact(shared.db, tenant, { ...submission(), occurred_at: '2026-05-01T12:00:31Z' });
  await insertFact(shared.db, tenant, { ...friend('follow'), occurred_at: DURING });
  await insertFact(shared.db, tenant, click({ occurred_at: DURING }));
  await standAt(shared.db, DEADLINE);
  expect(await decideDue()).toEqual(['clicked']);
});

test('[T3] what waits for its time only is on the branch due; a branch that a fact has set stays', async () => {
  await schedule(shared.db, tenant);
  await schedule(shared.db, tenant, { delay: waitingFor({ source: 'link', branch: 'yes' }) });
  await insertFact(shared.db, tenant, click({ occurred_at: DURING }));
  await lookForFacts(shared.db);
  await shared.db.$client.query('truncate link_click');
  expect((await decideDue()).sort()).toEqual(['due', 'yes']);
});

test('[T4] a decision that is repeated looks again: the branch is written with the end only', async () => {
  await schedule(shared.db, tenant, { delay: waitingFor({ source: 'link' }) });
  await standAt(shared.db, DEADLINE);
  const tickets = await claim(shared.db);
  await inTransaction(shared.db, async (tx) => {
    const branched = await decideBranches(tx, await holdActions(tx, tickets));
    expect(branched.map(({ branch }) => branch)).toEqual(['expired']);
    await finishActions(
      tx,
      branched.map(({ id, fence }) => ({ id, fence, to: 'pending', error: 'x', retryInMs: 0 })),
    );
  });
  expect(await each(shared.db, `status || ' ' || coalesce(branch, '-')`)).toEqual(['pending -']);
  await insertFact(shared.db, tenant, click({ occurred_at: DURING }));
  expect(await decideDue()).toEqual(['clicked']);
});

test('[T10] rows made by the thousand meet older facts after their commit; whose account or person differs, does not', async () => {
  await insertFact(shared.db, tenant, click({ occurred_at: DURING }));
  const many = Array.from({ length: 1_001 }, (_, n) =>
    actionToSchedule(n === 1_000 ? other : tenant, {
      delay: waitingFor({ source: 'link' }),
      userId: lineUserId(1 + (n % 2)),
    }),
  );
  const made = await inTransaction(shared.db, (tx) => scheduleMany(tx, many));
  expect(await each(shared.db, `count(*) filter (where branch is null) over ()`)).toContain('1001');
  const ids = made.flatMap((result) => (result.result === 'made' ? result.id : []));
  const met = await lookForFacts(shared.db, ids);
  expect(met).toHaveLength(500);
  expect(await lookForFacts(shared.db)).toEqual([]);
});

test('[T10] the sweep looks at what was made within three minutes, and waits for nobody', async () => {
  await schedule(shared.db, tenant, { delay: { ...waitingFor({ source: 'link' }), expiresSeconds: 3_600 } });
  await insertFact(shared.db, tenant, click({ occurred_at: DURING }));
  await standAt(shared.db, '2026-05-01T12:02:59Z');
  await inTransaction(shared.db, async (tx) => {
    await tx.execute('select from scheduled_action for update');
    expect(await lookForFacts(shared.db)).toEqual([]);
  });
  await standAt(shared.db, '2026-05-01T12:03:00Z');
  expect(await lookForFacts(shared.db)).toEqual([]);
  await standAt(shared.db, '2026-05-01T12:02:59Z');
  expect(await lookForFacts(shared.db)).toHaveLength(1);
});
