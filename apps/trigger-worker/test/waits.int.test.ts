import type { ActionConfig, Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { columnOf, insertRow, moveProductTime, testDb } from '@dueline/db/testing';
import type { RuleDraft } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { processDueActions } from '../src/process-due-actions.ts';
import {
  announceAll,
  count,
  createCityRule,
  createTenant,
  decideDeps,
  decisions,
  message,
  setAttributes,
} from './support.ts';

const context = { signal: new AbortController().signal };
const text = (words: string): ActionConfig<'send_message'>['messages'] => [{ type: 'text', text: words }];
const REWARD = text('your reward');
const REMINDER = text('still there?');

type Delay = NonNullable<RuleDraft['actionConfig']['delay']>;
type OnExpired = Extract<Delay, { mode: 'waitForTracking' }>['onExpired'];

/** Two people whose city changes, and a rule that answers after `delay`. */
async function twoPeople(db: Db, delay: Delay, attributes: object = {}): Promise<Tenant> {
  const tenant = await createTenant(db, 2);
  await createCityRule(db, tenant, { actionConfig: { messages: REWARD, delay } });
  await setAttributes(db, tenant, { city: 'Edo', ...attributes }, [0, 1]);
  await handle(db, tenant);
  return tenant;
}

async function handle(db: Db, tenant: Tenant): Promise<void> {
  const tickets = await announceAll(db);
  await handleTriggerEvents(decideDeps(db), 'attribute_changed')(message(tenant, { tickets }), context);
}

async function decideDue(db: Db): Promise<void> {
  const claim = {
    claimedBy: 'test:1',
    via: 'inline',
    limit: 500,
    leaseSeconds: 60,
    maxProcessing: 500,
    overdueMs: 0,
    graceSeconds: 0,
  } as const;
  const process = processDueActions(decideDeps(db), claim);
  while (await process());
}

/** A click of person 0 that nobody has told yet. */
async function click(db: Db, tenant: Tenant): Promise<void> {
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId };
  const { id } = await insertRow(db, 'tracked_link', { ...base, name: 'shop', url: 'https://example.com' });
  await insertRow(db, 'link_click', {
    ...base,
    tracked_link_id: id,
    user_id: `U${'0'.repeat(32)}`,
    idempotency_key: 'one',
  });
}

const WAIT = { mode: 'waitForTracking', expiresSeconds: 3_600 } as const;
const EXPIRED: [onExpired: OnExpired, history: string, sent: string[]][] = [
  [undefined, 'cancelled: wait_expired', ['your reward']],
  [{ do: 'skip' }, 'cancelled: wait_expired', ['your reward']],
  [{ do: 'run' }, 'fired: wait_expired', ['your reward', 'your reward']],
  [{ do: 'instead', messages: REMINDER }, 'fired: wait_expired', ['still there?', 'your reward']],
];

test.for(EXPIRED)(
  '[T3][T6] who clicked in time gets the action; who did not, with %j: %s',
  async ([onExpired, history, sent]) => {
    await using database = await testDb();
    const { db } = database;
    const tenant = await twoPeople(db, onExpired === undefined ? WAIT : { ...WAIT, onExpired });
    await click(db, tenant);
    await decideDue(db);
    expect(await count(db, 'delivery')).toBe(0);

    await moveProductTime(db, 3_700);
    await decideDue(db);

    expect(await decisions(db)).toEqual({ 'scheduled: matched': 2, 'fired: fact_in_time': 1, [history]: 1 });
    expect(
      await columnOf(
        db,
        `select detail ->> 'branch' from trigger_log where trigger_on = 'scheduled_action' order by 1`,
      ),
    ).toEqual(['clicked', 'expired']);
    expect(await columnOf(db, `select branch from scheduled_action order by 1`)).toEqual(['clicked', 'expired']);
    expect(await columnOf(db, `select body::jsonb #>> '{messages,0,text}' from delivery order by 1`)).toEqual(sent);
    const [expiredSays] = await columnOf(
      db,
      `select action_config #>> '{messages,0,text}' from trigger_log where detail ->> 'branch' = 'expired'`,
    );
    expect(expiredSays).toBe(onExpired?.do === 'instead' ? 'still there?' : 'your reward');
  },
);

const DATES: [
  name: string,
  attributes: object,
  whenPast: 'fire' | 'skip' | 'fail',
  history: string,
  status: string[],
][] = [
  ['a date ahead', { trial_ends: '2999-01-01' }, 'skip', 'scheduled: matched', ['pending', 'pending']],
  ['a date that passed: fire', { trial_ends: '2020-01-01' }, 'fire', 'scheduled: date_past', ['pending', 'pending']],
  [
    'a date that passed: skip',
    { trial_ends: '2020-01-01' },
    'skip',
    'cancelled: date_past',
    ['cancelled', 'cancelled'],
  ],
  ['a date that passed: fail', { trial_ends: '2020-01-01' }, 'fail', 'failed: date_past', ['failed', 'failed']],
  ['no date', { trial_ends: 'some day' }, 'fire', 'suppressed: no_date', []],
];

test.for(DATES)('[T1] %s is in the history', async ([, attributes, whenPast, history, status]) => {
  await using database = await testDb();
  const { db } = database;
  await twoPeople(
    db,
    { mode: 'relativeToDate', to: { attribute: 'trial_ends' }, offsetDays: -3, whenPast },
    attributes,
  );
  expect(await decisions(db)).toEqual({ [history]: 2 });
  expect(await columnOf(db, 'select status from scheduled_action')).toEqual(status);
  expect(await count(db, 'trigger_log', 'scheduled_action_id is not null')).toBe(status.length);
  const asTheRuleSays = `trigger_on = 'attribute_changed' and (event_id, action_type, action_config) = (
    select trigger_log.event_id, action_type, action_config from trigger_rule where id = trigger_rule_id and version = rule_version)`;
  expect(await count(db, 'trigger_log', asTheRuleSays)).toBe(2);
  const statuses = { pending: 'success', cancelled: 'cancelled', failed: 'failed' };
  const told = status.map((word) => statuses[word as keyof typeof statuses]);
  expect(await columnOf(db, 'select status from trigger_log where scheduled_action_id is not null')).toEqual(told);
  const failed = `select concat_ws(' ', kind, reason_code, status) from attention_item where exists (
    select from scheduled_action as action where action.id::text = ref_id and action.user_id = attention_item.user_id)`;
  expect(await columnOf(db, failed)).toEqual(
    status.filter((word) => word === 'failed').map(() => 'action_failed date_past open'),
  );
});

test('who has no date to wait for yet spends no slot of the rule: with a date the rule waits for it', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, 2);
  const delay = { mode: 'relativeToDate', to: { attribute: 'trial_ends' }, offsetDays: -3 } as const;
  await createCityRule(db, tenant, { frequency: 'once', actionConfig: { messages: REWARD, delay } });
  await setAttributes(db, tenant, { city: 'Edo' }, [0, 1]);
  await handle(db, tenant);
  expect(await decisions(db)).toEqual({ 'suppressed: no_date': 2 });
  expect(await count(db, 'rule_gate')).toBe(0);
  await setAttributes(db, tenant, { city: 'Nara', trial_ends: '2999-01-01' }, [0]);
  await setAttributes(db, tenant, { city: 'Nara' }, [1]);
  await handle(db, tenant);
  expect(await decisions(db)).toEqual({ 'suppressed: no_date': 3, 'scheduled: matched': 1 });
});

test('[T1] an event whose action waits already makes no second one, and its history says which', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, 1);
  const ruleId = await createCityRule(db, tenant, { actionConfig: { messages: REWARD, delay: { seconds: 60 } } });
  await setAttributes(db, tenant, { city: 'Edo' }, [0]);
  const [eventId] = await columnOf(db, 'select event_id from event_outbox');
  const { id } = await insertRow(db, 'scheduled_action', {
    ...{
      organization_id: tenant.organizationId,
      line_oa_id: tenant.lineOaId,
      user_id: 'U',
      action_type: 'send_message',
    },
    ...{ action_config: {}, execute_at: '2999-01-01', due_at: '2999-01-01', dedup_key: `ev:${eventId}:${ruleId}` },
  });
  await handle(db, tenant);
  expect(await decisions(db)).toEqual({ 'suppressed: already_scheduled': 1 });
  expect(await columnOf(db, 'select scheduled_action_id from trigger_log')).toEqual([String(id)]);
});

test('[T1] more than 500 waits of one message meet their older facts as few do', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, 501);
  await createCityRule(db, tenant, { actionConfig: { messages: REWARD, delay: WAIT } });
  await setAttributes(
    db,
    tenant,
    { city: 'Edo' },
    Array.from({ length: 501 }, (_, n) => n),
  );
  await click(db, tenant);
  await db.$client.query(`alter table link_click disable trigger user;
    update link_click set occurred_at = app_now() + interval '1 minute'; delete from event_outbox where topic = 'campaign_click'`);
  await handle(db, tenant);
  expect(await decisions(db)).toEqual({ 'scheduled: matched': 501 });
  expect(await columnOf(db, 'select branch from scheduled_action where branch is not null')).toEqual(['clicked']);
});
