import type { EventTopic } from '@dueline/contracts';
import { insertRow, lineUserId } from '@dueline/db/testing';
import { createTrackedLink, issueLink, recordClick } from '@dueline/link-tracking';
import { createBooking, moveBooking, recordFriendEvent, submitForm } from '@dueline/recipients';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  baseOf,
  hours,
  key,
  PERSON,
  type Stage,
  setStage,
  UNLOCKED,
  UNTOUCHED,
  type Waiting,
} from './facts-support.ts';
import { createTenant, decisions, setAttributes } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage[Symbol.asyncDispose]());
beforeEach(() => stage.clear());

interface Way {
  readonly topic: EventTopic;
  readonly wait: () => Waiting;
  readonly plainSql: () => Promise<unknown>;
  readonly byPackage?: () => Promise<unknown>;
}

const WAYS: readonly Way[] = [
  {
    topic: 'campaign_click',
    wait: () => ({ source: 'link', refId: stage.link }),
    plainSql: () => stage.insertClick(),
    byPackage: async () => {
      const issue = await issueLink(stage.shared.db, stage.tenant, { trackedLinkId: stage.link, userId: PERSON });
      await recordClick(
        stage.shared.db,
        { code: issue.code },
        { idempotencyKey: key(), userAgent: 'Safari Line/14.0' },
      );
    },
  },
  {
    topic: 'form_submitted',
    wait: () => ({ source: 'form', refId: stage.form }),
    plainSql: () => stage.insert('form_submission', { form_id: stage.form }),
    byPackage: () =>
      submitForm(stage.shared.db, stage.tenant, {
        formId: stage.form,
        userId: PERSON,
        answers: {},
        idempotencyKey: key(),
      }),
  },
  {
    topic: 'booking_event',
    wait: () => ({ source: 'booking' }),
    plainSql: () => stage.insert('booking_event', { booking_id: stage.booking, type: 'created' }),
    byPackage: () =>
      createBooking(stage.shared.db, stage.tenant, {
        userId: PERSON,
        name: 'cut',
        startsAt: hours(5),
        idempotencyKey: key(),
      }),
  },
  {
    topic: 'friend_track_event_inserted',
    wait: () => ({ source: 'friend' }),
    plainSql: () =>
      insertRow(stage.shared.db, 'friend_track_event', {
        ...baseOf(stage.tenant),
        type: 'follow',
        webhook_event_id: key(),
      }),
    byPackage: () =>
      recordFriendEvent(stage.shared.db, stage.tenant, { userId: PERSON, type: 'follow', webhookEventId: key() }),
  },
  {
    topic: 'attribute_changed',
    wait: () => ({ source: 'attribute', refId: '__proto__' }),
    plainSql: () =>
      stage.shared.db.$client.query(
        `update line_user set attributes = attributes || jsonb_build_object('__proto__', random()) where line_oa_id = $1 and user_id = $2`,
        [stage.tenant.lineOaId, PERSON],
      ),
  },
];

test.for(WAYS)('[T10] a row that waits is unlocked by $topic, which began as a plain insert, once', async (way) => {
  const id = await stage.waiting(way.wait());
  const bystander = await stage.waiting({ ...way.wait(), userId: lineUserId(2) });
  await way.plainSql();
  const [topic] = (await stage.shared.db.$client.query('select topic from event_outbox')).rows.map((row) => row.topic);
  expect(topic).toBe(way.topic);

  expect(await stage.consume()).toEqual(['done']);

  expect(await stage.stateOf(id)).toEqual(UNLOCKED);
  expect(await stage.stateOf(bystander)).toEqual(UNTOUCHED);
  expect(await decisions(stage.shared.db)).toEqual({ 'unlocked: fact_in_time': 1 });
  const { rows } = await stage.shared.db.$client.query(
    'select trigger_on, user_id, detail, scheduled_action_id, event_id = (select event_id from event_archive) as same_event from trigger_log',
  );
  expect(rows).toEqual([
    { trigger_on: way.topic, user_id: PERSON, detail: { branch: 'yes' }, scheduled_action_id: id, same_event: true },
  ]);
});

test.for(WAYS.filter(({ byPackage }) => byPackage !== undefined))(
  '[T10] a row that waits is unlocked by $topic, which began as a report to its package',
  async (way) => {
    const id = await stage.waiting(way.wait());
    await way.byPackage?.();
    expect(await stage.consume()).toEqual(['done']);
    expect(await stage.stateOf(id)).toEqual(UNLOCKED);
  },
);

test.for<[string, () => Promise<unknown>, Waiting]>([
  ['the click of a robot', () => stage.insertClick({ is_robot: true }), { source: 'link' }],
  ['the click of another person', () => stage.insertClick({ user_id: lineUserId(3) }), { source: 'link' }],
  [
    'the click of the same person at another account',
    async () => stage.insertClick(await clickElsewhere()),
    { source: 'link' },
  ],
  ['a click from before the wait', () => stage.insertClick({ occurred_at: hours(-2) }), { source: 'link' }],
  [
    'a booking that only moves',
    () =>
      moveBooking(stage.shared.db, stage.tenant, {
        bookingId: stage.booking,
        startsAt: hours(9),
        idempotencyKey: key(),
      }),
    { source: 'booking' },
  ],
  [
    'a person who leaves',
    () => recordFriendEvent(stage.shared.db, stage.tenant, { userId: PERSON, type: 'unfollow', webhookEventId: key() }),
    { source: 'friend' },
  ],
  [
    'another attribute',
    () => setAttributes(stage.shared.db, stage.tenant, { city: key() }, [1]),
    { source: 'attribute', refId: 'tier' },
  ],
])('%s unlocks nothing and leaves no history', async ([, happen, wait]) => {
  const id = await stage.waiting(wait);
  await happen();
  expect(await stage.consume()).toEqual(['done']);
  expect(await stage.stateOf(id)).toEqual(UNTOUCHED);
  expect(await decisions(stage.shared.db)).toEqual({});
});

async function clickElsewhere(): Promise<object> {
  const other = await createTenant(stage.shared.db);
  const link = await createTrackedLink(stage.shared.db, other, { name: 'shop', url: 'https://example.com' });
  return { ...baseOf(other), tracked_link_id: link };
}
