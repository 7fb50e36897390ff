import { listAttention } from '@dueline/attention';
import type { Delay } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { cancelBooking, createBooking, moveBooking } from '@dueline/recipients';
import { scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { key, PERSON, type Stage, setStage } from './facts-support.ts';
import { count, decisions, setAttributes } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage[Symbol.asyncDispose]());
beforeEach(() => stage.clear());

type DateDelay = Extract<Delay, { mode: 'relativeToDate' }>;
/** Makes a reminder of PERSON an hour before a date. */
const remind = (to: DateDelay['to'], whenPast: DateDelay['whenPast'] = 'skip') =>
  inTransaction(stage.shared.db, (tx) =>
    scheduleMany(tx, [
      actionToSchedule(stage.tenant, {
        userId: PERSON,
        delay: { mode: 'relativeToDate', to, offsetSeconds: -3_600, whenPast, reEvaluateConditions: false },
      }),
    ]),
  );
const reminders = async () =>
  (
    await stage.shared.db.$client.query(
      `select status, to_char(execute_at at time zone 'UTC', 'MM-DD HH24:MI') as at, cancel_reason as reason from scheduled_action`,
    )
  ).rows;

test('[T11] what hangs on a booking moves with it, and ends when it is cancelled', async () => {
  const { db } = stage.shared;
  const booking = { userId: PERSON, name: 'cut', startsAt: '2031-05-01T10:00:00Z', idempotencyKey: key() };
  const bookingId = await createBooking(db, stage.tenant, booking);
  await remind({ bookingId });
  await stage.consume();
  expect(await reminders()).toEqual([{ status: 'pending', at: '05-01 09:00', reason: null }]);

  await moveBooking(db, stage.tenant, { bookingId, startsAt: '2031-05-02T12:00:00Z', idempotencyKey: key() });
  await stage.consume();
  expect(await reminders()).toEqual([{ status: 'pending', at: '05-02 11:00', reason: null }]);
  expect(await decisions(db)).toEqual({ 'scheduled: date_moved': 1 });

  await cancelBooking(db, stage.tenant, { bookingId, idempotencyKey: key() });
  await stage.consume();
  expect(await reminders()).toMatchObject([{ status: 'cancelled', reason: 'booking_cancelled' }]);
  expect(await decisions(db)).toEqual({ 'cancelled: booking_cancelled': 1, 'scheduled: date_moved': 1 });
});

test('[T11] what hangs on the date of an attribute moves with it, and ends when it is gone', async () => {
  const { db } = stage.shared;
  await setAttributes(db, stage.tenant, { trial_ends: '2031-05-01T10:00:00Z' }, [1]);
  await remind({ attribute: 'trial_ends' });
  await setAttributes(db, stage.tenant, { trial_ends: '2031-06-01T10:00:00Z' }, [1, 2]);
  await stage.consume();
  expect(await reminders()).toEqual([{ status: 'pending', at: '06-01 09:00', reason: null }]);
  await setAttributes(db, stage.tenant, { trial_ends: null }, [1]);
  await stage.consume();
  expect(await reminders()).toMatchObject([{ status: 'cancelled', reason: 'date_gone' }]);
  expect(await decisions(db)).toEqual({ 'cancelled: date_gone': 1, 'scheduled: date_moved': 1 });
});

test('[T5] what fails because its date moved into the past needs a person', async () => {
  const { db } = stage.shared;
  await setAttributes(db, stage.tenant, { trial_ends: '2031-05-01T10:00:00Z' }, [1]);
  await remind({ attribute: 'trial_ends' }, 'fail');
  await setAttributes(db, stage.tenant, { trial_ends: '2020-05-01' }, [1]);
  await stage.consume();
  expect(await reminders()).toMatchObject([{ status: 'failed' }]);
  expect(await listAttention(db, stage.tenant)).toMatchObject([
    { kind: 'action_failed', reasonCode: 'date_past', userId: PERSON, status: 'open' },
  ]);
});

test('an event that ends a wait and moves a date locks the rows of both in id order, as who decides them does', async () => {
  const { db } = stage.shared;
  const hanging = await stage.waiting({ source: 'link', changes: { anchor_ref: 'attribute:trial_ends' } });
  const waiting = await stage.waiting({ source: 'attribute', refId: 'city' });
  await setAttributes(db, stage.tenant, { trial_ends: key(), city: key() }, [1]);
  const client = await db.$client.connect();
  let consumed: Promise<string[]> = Promise.resolve([]);
  try {
    await client.query('begin');
    await client.query('select from scheduled_action where id = $1 for no key update', [hanging]);
    consumed = stage.consume();
    await expect
      .poll(() => count(db, 'pg_stat_activity', `wait_event_type = 'Lock' and datname = current_database()`))
      .toBe(1);
    await client.query('select from scheduled_action where id = $1 for no key update nowait', [waiting]);
  } finally {
    await client.query('rollback');
    client.release();
  }
  expect(await consumed).toEqual(['done']);
});
