import type { ActionType, SourceType, Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { insertRow, moveProductTime, testDb } from '@dueline/db/testing';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { createRule, type RuleDraft } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { processDueActions } from '../src/process-due-actions.ts';
import { claimAll, claimOf, dueActions, fire } from './due.ts';
import { announceAll, createTenant, decideDeps, decisions, later, message, userId } from './support.ts';

const context = { signal: new AbortController().signal };
const USERS = [0, 1, 2];
const SENT = { 'fired: due': 3 };
const GONE = { 'cancelled: conditions_no_longer_hold': 3 };

interface Stage {
  readonly db: Db;
  readonly tenant: Tenant;
  readonly audience: string;
}

/** Three purchases of 1,000, each of which makes an action that waits a minute and looks at its source again. */
async function setStage(db: Db, conditionsOf: (audience: string) => object): Promise<Stage> {
  const tenant = await createTenant(db, USERS.length);
  const audience = await createAudience(db, tenant, { name: 'VIP' });
  await addAudienceMembers(db, tenant, { audienceId: audience, userIds: USERS.map(userId) });
  await createRule(db, tenant, {
    ...{ name: 'thanks', sourceType: 'custom_event', frequency: 'every_time' },
    sourceConfig: { name: 'purchase', conditions: conditionsOf(audience) },
    ...{ actionType: 'send_message', actionConfig: later(60, true) },
  } as RuleDraft<ActionType, SourceType>);
  for (const user of USERS)
    await insertRow(db, 'custom_event', {
      ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, user_id: userId(user) },
      ...{ name: 'purchase', idempotency_key: `${user}`, payload: { amount: 1_000, until: '2026-01-01' } },
    });
  const tickets = await announceAll(db);
  await handleTriggerEvents(decideDeps(db), 'custom_event')(message(tenant, { tickets }), context);
  return { db, tenant, audience };
}

const PROFILES: Record<string, (db: Db) => Promise<unknown>> = {
  queue: async (db) => fire(decideDeps(db), await claimAll(db)),
  inline: (db) => processDueActions(decideDeps(db), claimOf('inline'))(),
};

const amount = { event: '/payload/amount', op: 'eq', value: 1_000 };
const member = (audience: string) => ({ audience, op: 'member' });

test.for<
  [
    what: string,
    profile: string,
    conditions: (audience: string) => object,
    meanwhile: (stage: Stage) => Promise<unknown>,
    object,
  ]
>([
  ['nothing changed', 'queue', member, async () => undefined, SENT],
  ['nothing changed', 'inline', member, async () => undefined, SENT],
  ['the people left the audience', 'queue', member, ({ db }) => db.$client.query('delete from audience_member'), GONE],
  ['the people left the audience', 'inline', member, ({ db }) => db.$client.query('delete from audience_member'), GONE],
  [
    'the audience was deleted',
    'inline',
    member,
    ({ db }) => db.$client.query('update audience set deleted_date = app_now()'),
    GONE,
  ],
  [
    'what the event said was deleted',
    'inline',
    () => amount,
    ({ db }) => db.$client.query('truncate custom_event, event_archive'),
    SENT,
  ],
  [
    'the people are others than they were',
    'inline',
    () => ({ attribute: 'none', op: 'absent' }),
    ({ db }) => db.$client.query(`update line_user set attributes = '{"none": 1}'`),
    GONE,
  ],
  [
    'somebody broke what it waits by',
    'queue',
    () => amount,
    ({ db }) => db.$client.query(`update scheduled_action set source_config = '{"conditions": {"op": 1}}'`),
    GONE,
  ],
])('when an action is due and %s (%s): $4', async ([, profile, conditions, meanwhile, expected]) => {
  await using database = await testDb();
  const stage = await setStage(database.db, conditions);
  expect(await decisions(stage.db)).toEqual({ 'scheduled: matched': 3 });
  await meanwhile(stage);
  await moveProductTime(stage.db, 61);
  await PROFILES[profile]?.(stage.db);
  expect(await decisions(stage.db)).toEqual({ 'scheduled: matched': 3, ...expected });
});

test('a condition on the date is judged by the date on which the action is due', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, 2);
  await db.$client.query(
    `update line_user set attributes = jsonb_build_object('trial_ends', (app_now() at time zone 'Asia/Tokyo')::date + case user_id when $1 then 1 else 40 end)`,
    [userId(0)],
  );
  const conditions = { attribute: 'trial_ends', op: 'after', value: { ago: { days: 0 } } };
  await dueActions(db, tenant, { count: 2, delay: later(86_400 * 3).delay, sourceConfig: { conditions } } as never);
  await moveProductTime(db, 86_400 * 3 + 1);
  await processDueActions(decideDeps(db), claimOf('inline'))();
  const { rows } = await db.$client.query('select decision from trigger_log order by user_id');
  expect(rows.map(({ decision }) => decision)).toEqual(['cancelled', 'fired']);
});
