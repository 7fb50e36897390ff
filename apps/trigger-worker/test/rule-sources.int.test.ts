import type { ActionType, SourceType, Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { insertRow, testDb } from '@dueline/db/testing';
import { createTrackedLink } from '@dueline/link-tracking';
import { addAudienceMembers, createAudience, createForm } from '@dueline/recipients';
import { createRule, type RuleDraft } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { announceAll, count, createTenant, decideDeps, decisions, message, setAttributes, userId } from './support.ts';

const context = { signal: new AbortController().signal };
const FIRED = { 'fired: matched': 1 };
const UNMET = { 'not_matched: conditions_not_met': 1 };

interface Stage {
  readonly db: Db;
  readonly tenant: Tenant;
  readonly form: string;
  readonly link: string;
  readonly booking: string;
  readonly audience: string;
}

async function setStage(db: Db): Promise<Stage> {
  const tenant = await createTenant(db, 3);
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: userId(0) };
  const booking = await insertRow(db, 'booking', { ...base, name: 'ตัดผม', starts_at: '2030-01-01T10:00:00Z' });
  const audience = await createAudience(db, tenant, { name: 'VIP' });
  await addAudienceMembers(db, tenant, { audienceId: audience, userIds: [userId(0)] });
  return {
    ...{ db, tenant, audience, booking: String(booking.id) },
    form: await createForm(db, tenant, { name: 'form' }),
    link: await createTrackedLink(db, tenant, { name: 'shop', url: 'https://example.com' }),
  };
}

/** A fact about the first person, inserted as any service would. */
const tell = ({ db, tenant }: Stage, table: string, values: object) =>
  insertRow(db, table, {
    ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: userId(0) },
    ...(table === 'friend_track_event' ? { webhook_event_id: 'w' } : { idempotency_key: 'k' }),
    ...values,
  });

const ruleOn = ({ db, tenant }: Stage, sourceType: SourceType, sourceConfig: object): Promise<string> =>
  createRule(db, tenant, {
    ...{ name: 'rule', sourceType, sourceConfig, frequency: 'every_time' },
    ...{ actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'hello' }] } },
  } as RuleDraft<ActionType, SourceType>);

const decide = async ({ db, tenant }: Stage, topic: SourceType) =>
  handleTriggerEvents(decideDeps(db), topic)(message(tenant, { tickets: await announceAll(db) }), context);

interface Source {
  readonly topic: SourceType;
  readonly says: string;
  readonly config: (stage: Stage) => object;
  readonly plainSql: (stage: Stage) => Promise<unknown>;
  readonly expected: object;
}

const form = (answers: object) => (stage: Stage) => tell(stage, 'form_submission', { form_id: stage.form, answers });
const click = (values: object) => (stage: Stage) =>
  tell(stage, 'link_click', { tracked_link_id: stage.link, ...values });
const friend = (values: object) => (stage: Stage) => tell(stage, 'friend_track_event', values);
const booking = (type: string) => (stage: Stage) => tell(stage, 'booking_event', { booking_id: stage.booking, type });
const custom = (payload: object) => (stage: Stage) => tell(stage, 'custom_event', { name: 'purchase', payload });
const size = { event: '/answers/size', op: 'has_any', value: ['M', 'L'] };
const big = { event: '/payload/amount', op: 'gte', value: 1_000 };
const soon = {
  all: [
    { event: '/startsAt', op: 'in_next', value: { years: 30 } },
    { event: '/name', op: 'eq', value: 'ตัดผม' },
  ],
};

const SOURCES: Source[] = [
  { topic: 'form_submitted', says: 'any form', config: () => ({}), plainSql: form({}), expected: FIRED },
  {
    topic: 'form_submitted',
    says: 'this form',
    config: (s) => ({ formId: s.form }),
    plainSql: form({}),
    expected: FIRED,
  },
  {
    topic: 'form_submitted',
    says: 'another form',
    config: () => ({ formId: '999999999' }),
    plainSql: form({}),
    expected: {},
  },
  {
    topic: 'form_submitted',
    says: 'an answer',
    config: () => ({ conditions: size }),
    plainSql: form({ size: ['L'] }),
    expected: FIRED,
  },
  {
    topic: 'form_submitted',
    says: 'another answer',
    config: () => ({ conditions: size }),
    plainSql: form({ size: ['S'] }),
    expected: UNMET,
  },
  {
    topic: 'campaign_click',
    says: 'this link',
    config: (s) => ({ trackedLinkId: s.link }),
    plainSql: click({}),
    expected: FIRED,
  },
  { topic: 'campaign_click', says: 'a robot', config: () => ({}), plainSql: click({ is_robot: true }), expected: {} },
  {
    topic: 'friend_track_event_inserted',
    says: 'follow',
    config: () => ({}),
    plainSql: friend({ type: 'follow' }),
    expected: FIRED,
  },
  {
    topic: 'friend_track_event_inserted',
    says: 'unfollow',
    config: () => ({}),
    plainSql: friend({ type: 'unfollow' }),
    expected: {},
  },
  {
    topic: 'friend_track_event_inserted',
    says: 'unblock',
    config: () => ({ follow: 'unblocked' }),
    plainSql: friend({ type: 'follow', is_unblocked: true }),
    expected: FIRED,
  },
  {
    topic: 'friend_track_event_inserted',
    says: 'follow, no unblock',
    config: () => ({ follow: 'unblocked' }),
    plainSql: friend({ type: 'follow' }),
    expected: { 'not_matched: value_not_matched': 1 },
  },
  { topic: 'booking_event', says: 'created', config: () => ({}), plainSql: booking('created'), expected: FIRED },
  {
    topic: 'booking_event',
    says: 'cancelled',
    config: () => ({ types: ['cancelled'] }),
    plainSql: booking('cancelled'),
    expected: FIRED,
  },
  {
    topic: 'booking_event',
    says: 'no show',
    config: () => ({ types: ['cancelled'] }),
    plainSql: booking('no_show'),
    expected: {},
  },
  {
    topic: 'booking_event',
    says: 'its start and name',
    config: () => ({ conditions: soon }),
    plainSql: booking('created'),
    expected: FIRED,
  },
  {
    topic: 'custom_event',
    says: 'its name',
    config: () => ({ name: 'purchase' }),
    plainSql: custom({}),
    expected: FIRED,
  },
  { topic: 'custom_event', says: 'another name', config: () => ({ name: 'cart' }), plainSql: custom({}), expected: {} },
  {
    topic: 'custom_event',
    says: 'its amount',
    config: () => ({ name: 'purchase', conditions: big }),
    plainSql: custom({ amount: 1_000 }),
    expected: FIRED,
  },
  {
    topic: 'custom_event',
    says: 'an amount that is text',
    config: () => ({ name: 'purchase', conditions: big }),
    plainSql: custom({ amount: '1000' }),
    expected: UNMET,
  },
  {
    topic: 'custom_event',
    says: 'a member',
    config: (s) => ({ name: 'purchase', conditions: { audience: s.audience, op: 'member' } }),
    plainSql: custom({}),
    expected: FIRED,
  },
  {
    topic: 'custom_event',
    says: 'no member',
    config: (s) => ({ name: 'purchase', conditions: { audience: s.audience, op: 'not_member' } }),
    plainSql: custom({}),
    expected: UNMET,
  },
];

test.for(SOURCES)('a row of $topic that says $says: $expected', async ({ topic, config, plainSql, expected }) => {
  await using database = await testDb();
  const stage = await setStage(database.db);
  await ruleOn(stage, topic, config(stage));
  await plainSql(stage);
  expect(await decide(stage, topic)).toEqual({ outcome: 'done', detail: { events: 1 } });
  expect(await decisions(stage.db)).toEqual(expected);
  expect(await count(stage.db, 'delivery')).toBe(expected === FIRED ? 1 : 0);
});

test('who is in an audience is asked of the account’s own audiences, as they are when it is decided', async () => {
  await using database = await testDb();
  const stage = await setStage(database.db);
  const { db, tenant } = stage;
  const other = await setStage(db);
  const gone = await createAudience(db, tenant, { name: 'gone' });
  await addAudienceMembers(db, tenant, { audienceId: gone, userIds: [userId(1)] });
  await ruleOn(stage, 'attribute_changed', {
    attribute: 'city',
    conditions: { audience: stage.audience, op: 'member' },
  });
  const strange = await ruleOn(stage, 'attribute_changed', {
    attribute: 'city',
    conditions: { audience: stage.audience, op: 'member' },
  });
  await db.$client.query(
    `update trigger_rule set source_config = jsonb_set(source_config, '{conditions,when,audience}', to_jsonb($1::text)) where id = $2`,
    [other.audience, strange],
  );
  await ruleOn(stage, 'attribute_changed', { attribute: 'city', conditions: { audience: gone, op: 'not_member' } });
  await setAttributes(db, tenant, { city: 'Nara' }, [0, 1, 2]);
  await addAudienceMembers(db, tenant, { audienceId: stage.audience, userIds: [userId(2)] });
  await db.$client.query('update audience set deleted_date = app_now() where id = $1', [gone]);
  await decide(stage, 'attribute_changed');
  const { rows } = await db.$client.query(
    `select user_id, detail #>> '{leaves,0,why}' as why, decision from trigger_log order by trigger_rule_id, user_id`,
  );
  expect(rows.map(({ decision, why }) => why ?? decision)).toEqual([
    ...['fired', 'not_matched', 'fired'],
    ...Array<string>(3).fill('no_such_audience'),
    ...Array<string>(3).fill('no_such_audience'),
  ]);
});

test('a day is that of the person, else of the account', async () => {
  await using database = await testDb();
  const stage = await setStage(database.db);
  const { db, tenant } = stage;
  const zones = ['Pacific/Kiritimati', 'nonsense', null]; // 26 hours between the first and the account
  await db.$client.query(`update line_oa set timezone = 'Etc/GMT+12' where id = $1`, [tenant.lineOaId]);
  for (const [at, zone] of zones.entries())
    await db.$client.query('update line_user set timezone = $1 where user_id = $2', [zone, userId(at)]);
  await ruleOn(stage, 'attribute_changed', {
    attribute: 'day',
    conditions: { event: '/to', op: 'on', value: { ago: { days: 0 } } },
  });
  await db.$client.query(
    `update line_user set attributes = jsonb_build_object('day', (app_now() at time zone 'Etc/GMT+12')::date) where line_oa_id = $1`,
    [tenant.lineOaId],
  );
  await decide(stage, 'attribute_changed');
  const { rows } = await db.$client.query('select decision from trigger_log order by user_id');
  expect(rows.map(({ decision }) => decision)).toEqual(['not_matched', 'fired', 'fired']);
});

test('only what the rules of an event ask about is read', async () => {
  await using database = await testDb();
  const stage = await setStage(database.db);
  const { db, tenant } = stage;
  await ruleOn(stage, 'attribute_changed', { attribute: 'city' });
  await ruleOn(stage, 'attribute_changed', {
    attribute: 'tier',
    conditions: { audience: stage.audience, op: 'member' },
  });
  await ruleOn(stage, 'custom_event', { name: 'cart', conditions: big });
  await db.$client.query(
    'alter table audience_member rename to hidden_members; alter table custom_event rename to hidden_events',
  );
  await setAttributes(db, tenant, { city: 'Nara' }, [0]);
  await decide(stage, 'attribute_changed');
  expect(await decisions(db)).toEqual(FIRED);
});
