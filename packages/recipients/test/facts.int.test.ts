import { randomBytes } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { PermanentError } from '@dueline/kernel';
import {
  type CustomEvent,
  cancelBooking,
  createBooking,
  createForm,
  type FriendEvent,
  loadEventDetails,
  moveBooking,
  recordCustomEvent,
  recordFriendEvent,
  submitForm,
  updateFollowing,
} from '@dueline/recipients';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
let other: Tenant;

beforeAll(async () => {
  shared = await testDb();
  tenant = await insertTenant(shared.db);
  other = await insertTenant(shared.db);
});
afterAll(() => shared[Symbol.asyncDispose]());
beforeEach(() =>
  shared.db.$client.query(
    'delete from booking_event; delete from booking; delete from form_submission; delete from friend_track_event; delete from custom_event; delete from event_outbox; delete from line_user',
  ),
);

const PERSON = lineUserId(1);
const key = () => crypto.randomUUID();
const told = async () =>
  (await shared.db.$client.query('select topic, user_id, payload from event_outbox order by id')).rows;

test('a submitted form is one fact and one event, however often it is reported', async () => {
  const formId = await createForm(shared.db, tenant, { name: 'แบบฟอร์ม' });
  const submission = { formId, userId: PERSON, answers: { 名前: ['สมชาย'] }, idempotencyKey: key() };
  const results = await Promise.all([1, 2, 3].map(() => submitForm(shared.db, tenant, submission)));
  expect(results.sort()).toEqual([false, false, true]);
  expect(await told()).toMatchObject([{ topic: 'form_submitted', user_id: PERSON, payload: { form_id: formId } }]);
  expect(await columnOf(shared.db, `select answers ->> '名前' from form_submission`)).toEqual(['["สมชาย"]']);
});

const booking = (changes: object = {}) => ({
  ...{ userId: PERSON, name: 'ตัดผม', startsAt: '2026-03-01T10:00:00+07:00', idempotencyKey: key() },
  ...changes,
});
const bookings = async () =>
  (
    await shared.db.$client.query(
      `select id, to_char(starts_at at time zone 'UTC', 'HH24:MI') as at, cancelled_date is not null as cancelled from booking order by id`,
    )
  ).rows;
const eventTypes = () => columnOf(shared.db, 'select type from booking_event order by id');

test('a booking that is made, moved and cancelled tells of each step, and of none without the step', async () => {
  const bookingId = await createBooking(shared.db, tenant, booking());
  expect(await bookings()).toEqual([{ id: bookingId, at: '03:00', cancelled: false }]);
  const move = { bookingId, startsAt: '2026-03-01T04:30:00Z', idempotencyKey: key() };
  expect(await moveBooking(shared.db, tenant, move)).toBe(true);
  expect(await moveBooking(shared.db, tenant, { ...move, startsAt: '2026-03-01T09:00:00Z' })).toBe(false); // a repeated report
  expect(await bookings()).toEqual([{ id: bookingId, at: '04:30', cancelled: false }]);
  const cancellation = { bookingId, idempotencyKey: key() };
  expect(await cancelBooking(shared.db, tenant, cancellation)).toBe(true);
  expect(await cancelBooking(shared.db, tenant, cancellation)).toBe(false);
  await expect(moveBooking(shared.db, tenant, { ...move, idempotencyKey: key() })).rejects.toThrow(PermanentError);
  expect(await bookings()).toEqual([{ id: bookingId, at: '04:30', cancelled: true }]);
  expect(await eventTypes()).toEqual(['created', 'rescheduled', 'cancelled']);
  expect((await told()).map(({ payload }) => payload.type)).toEqual(['created', 'rescheduled', 'cancelled']);
});

test('a booking that is reported several times at once is made once, and each report gets its id', async () => {
  const report = booking();
  const ids = await Promise.all([1, 2, 3, 4].map(() => createBooking(shared.db, tenant, report)));
  expect(new Set(ids).size).toBe(1);
  expect(await bookings()).toHaveLength(1);
  expect(await eventTypes()).toEqual(['created']);
});

test.for<[string, () => Promise<unknown>]>([
  ['a form of another account', async () => submitTo(other, await createForm(shared.db, tenant, { name: 'form' }))],
  ['a form that is no id', () => submitTo(tenant, 'form')],
  ['a form without a name', () => createForm(shared.db, tenant, { name: '' })],
  ['a booking of nobody', () => createBooking(shared.db, tenant, booking({ userId: 'somebody' }))],
  ['a booking at no time', () => createBooking(shared.db, tenant, booking({ startsAt: 'soon' }))],
  ['moving a booking that does not exist', () => moveBooking(shared.db, tenant, { bookingId: '999999', ...booking() })],
  ['a booking with an endless key', () => createBooking(shared.db, tenant, booking({ idempotencyKey: endless() }))],
  ['a booking whose name cannot be stored', () => createBooking(shared.db, tenant, booking({ name: 'a\u0000' }))],
  ['a custom event with another kind of name', () => custom({ name: 'Purchase' })],
  ['a custom event with a name that cannot be stored', () => custom({ name: 'a\u0000' })],
  ['a custom event that says what cannot be stored', () => custom({ payload: { a: '\u0000' } })],
  ['a custom event that says half a character', () => custom({ payload: { a: '\ud800' } })],
  ['a custom event that says too much', () => custom({ payload: { a: 'x'.repeat(66_000) } })],
  ['a custom event with an endless key', () => custom({ idempotencyKey: endless() })],
  ['a custom event of nobody', () => custom({ userId: 'somebody' })],
  ['a custom event at no time', () => custom({ occurredAt: 'when?' })],
  ['a friend with an endless webhook', () => friend('follow', { webhookEventId: endless() })],
  ['a friend that is nobody', () => friend('follow', { userId: 'somebody' })],
  ['a friend at no time', () => friend('follow', { occurredAt: 'when?' })],
])('%s is refused for good, and nothing happens', async ([, attempt]) => {
  await expect(attempt()).rejects.toBeInstanceOf(PermanentError);
  expect(await bookings()).toEqual([]);
  expect(await told()).toEqual([]);
});

const endless = () => randomBytes(10_000).toString('hex');
const submitTo = (whose: Tenant, formId: string) =>
  submitForm(shared.db, whose, { formId, userId: PERSON, answers: {}, idempotencyKey: key() });

test('a booking of another account is neither moved nor cancelled', async () => {
  const bookingId = await createBooking(shared.db, tenant, booking());
  await expect(cancelBooking(shared.db, other, { bookingId, idempotencyKey: key() })).rejects.toThrow(PermanentError);
  expect(await bookings()).toMatchObject([{ cancelled: false }]);
});

const custom = (changes: Partial<CustomEvent> = {}) =>
  recordCustomEvent(shared.db, tenant, { userId: PERSON, name: 'purchase', idempotencyKey: key(), ...changes });

test('a custom event is one fact, however often it is reported, and keeps what it says', async () => {
  const event = {
    idempotencyKey: key(),
    payload: { 金額: 1_200, items: ['お茶 🍵'] },
    occurredAt: '2026-03-01T10:00:00Z',
  };
  const results = await Promise.all([1, 2, 3].map(() => custom(event)));
  expect(results.sort()).toEqual([false, false, true]);
  expect(await told()).toMatchObject([{ topic: 'custom_event', user_id: PERSON, payload: { name: 'purchase' } }]);
  const [id] = await columnOf(shared.db, 'select id from custom_event');
  const customEvents = [String(id)];
  const details = await inTransaction(shared.db, (tx) => loadEventDetails(tx, { customEvents }));
  expect(details.payloads).toEqual(new Map([[id, event.payload]]));
  expect([details.answers.size, details.bookings.size]).toEqual([0, 0]);
});

test('a follow says whether the person had blocked the account before', async () => {
  await friend('follow', { isUnblocked: true });
  await friend('follow');
  expect((await told()).map(({ payload }) => payload.is_unblocked)).toEqual(['true', 'false']);
});

const friend = (type: FriendEvent['type'], changes: Partial<FriendEvent> = {}) =>
  recordFriendEvent(shared.db, tenant, { userId: PERSON, type, webhookEventId: key(), ...changes });
const update = () => inTransaction(shared.db, (tx) => updateFollowing(tx, tenant, [PERSON, PERSON]));
const following = async () =>
  (await shared.db.$client.query('select user_id, is_following, blocked_at is not null as blocked from line_user'))
    .rows;

test('a webhook that LINE sends again is one fact', async () => {
  const webhookEventId = key();
  expect(await friend('follow', { webhookEventId })).toBe(true);
  expect(await friend('follow', { webhookEventId })).toBe(false);
  expect(await told()).toHaveLength(1);
});

test.for([
  ['a stranger who follows becomes known', undefined, [['follow', 1]], true],
  ['a stranger who leaves becomes known as gone', undefined, [['unfollow', 1]], false],
  ['a friend who leaves is gone', true, [['unfollow', 1]], false],
  ['who comes back follows', false, [['unfollow', 1], ['follow', 2]], true], // biome-ignore format: a story
  ['an unfollow that is told late does not undo a later follow', true, [['follow', 2], ['unfollow', 1]], true], // biome-ignore format: a story
  ['a follow that is told late does not undo a later unfollow', true, [['unfollow', 2], ['follow', 1]], false], // biome-ignore format: a story
] as const)('%s', async ([, before, story, after]) => {
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: PERSON };
  if (before !== undefined) await insertRow(shared.db, 'line_user', { ...base, is_following: before });
  for (const [type, minute] of story) {
    await friend(type, { occurredAt: `2026-03-01T00:0${minute}:00Z` });
    await update();
  }
  expect(await following()).toEqual([{ user_id: PERSON, is_following: after, blocked: !after }]);
});
