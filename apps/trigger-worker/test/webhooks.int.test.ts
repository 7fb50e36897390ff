import type { ActionRequest, Tenant } from '@dueline/contracts';
import { checkInvariants, type Db } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { DELIVERY_INVARIANTS } from '@dueline/deliveries';
import { createRule, setFrequencyCap } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { claimAll, context, dueActions, fire } from './due.ts';
import { announceAll, count, createTenant, decideDeps, decisions, message, setAttributes, userId } from './support.ts';

let database: TestDb;
let db: Db;
let tenant: Tenant;
beforeAll(async () => {
  database = await testDb();
  db = database.db;
  tenant = await createTenant(db);
});
afterAll(() => database[Symbol.asyncDispose]());

const LIMITS = { leaseOverSeconds: 60, silentSeconds: 60, overdueSeconds: 60, historyDays: 1 };
const WEBHOOK = {
  actionType: 'call_webhook' as const,
  actionConfig: {
    url: 'https://example.com/hooks/tier?shop=7',
    data: { city: '{{ attribute.city | "nowhere" }}', amount: 12.5, isTest: true, none: null },
  },
};
const rule = {
  ...{ name: 'tell the shop', sourceType: 'attribute_changed' as const, sourceConfig: { attribute: 'city' } },
  ...{ ...WEBHOOK, frequency: 'every_time' as const },
};

test('what a rule or a due action tells a receiver is decided once, filled in as the person is then, for who does not follow too, and is no message', async () => {
  const ruleId = await createRule(db, tenant, rule);
  await setFrequencyCap(db, tenant, { windowSeconds: 86_400, maxMessages: 1 });
  await db.$client.query('update line_user set is_following = false where user_id = $1', [userId(1)]);
  await db.$client.query(`update line_oa set quiet_from = '00:00', quiet_to = '23:59', quiet_policy = 'drop'`);
  for (const city of ['東京 🗼', 'Osaka']) await setAttributes(db, tenant, { city }, [1]);
  await dueActions(db, tenant, { count: 1, request: WEBHOOK as ActionRequest });

  const deps = decideDeps(db);
  const events = message(tenant, { tickets: await announceAll(db) });
  await handleTriggerEvents(deps, 'attribute_changed')(events, context);
  await handleTriggerEvents(deps, 'attribute_changed')(events, context);
  const due = await claimAll(db);
  await Promise.all([fire(deps, due), fire(deps, due)]);

  expect(deps.errors).toEqual([]);
  expect(await decisions(db)).toEqual({ 'fired: due': 1, 'fired: matched': 2 });
  expect(deps.handedOver).toHaveLength(3);
  expect(deps.handedOver.every((ticket) => 'isWebhook' in ticket && ticket.isWebhook === true)).toBe(true);
  expect(await count(db, 'delivery', `endpoint = 'webhook'`)).toBe(3);
  expect(await count(db, 'message_tally')).toBe(0);
  const bodies = await columnOf(db, 'select body from delivery order by id');
  const told = bodies.map((body) => JSON.parse(body ?? ''));
  expect(told.map(({ url }) => url)).toEqual(Array.from({ length: 3 }, () => rule.actionConfig.url));
  const [channelId] = await columnOf(db, 'select channel_id from line_oa');
  expect(told.slice(0, 2).map(({ payload }) => payload)).toEqual(
    (await columnOf(db, 'select event_id::text from delivery order by id')).slice(0, 2).map((eventId) => ({
      ...{ type: 'rule.fired', channelId, userId: userId(1), ruleId, eventId, actionId: null },
      data: { city: 'Osaka', amount: 12.5, isTest: true, none: null },
    })),
  );
  expect(told[2].payload).toMatchObject({ ruleId: null, data: { city: 'nowhere' } });
  const violated = await checkInvariants(db, DELIVERY_INVARIANTS, LIMITS);
  expect(violated.filter(({ violations }) => violations > 0)).toEqual([]);
});

test('data that is too large once it is filled in fails the decision, and a person hears of it', async () => {
  await db.$client.query('truncate trigger_log');
  const data = Object.fromEntries(['a', 'b'].map((name) => [name, '{{ attribute.city | "nowhere" }}'.repeat(400)]));
  await createRule(db, tenant, { ...rule, name: 'too much', actionConfig: { ...rule.actionConfig, data } });
  await setAttributes(db, tenant, { city: 'c'.repeat(60) }, [2]);
  const deps = decideDeps(db);
  await handleTriggerEvents(deps, 'attribute_changed')(message(tenant, { tickets: await announceAll(db) }), context);
  expect(await decisions(db)).toEqual({ 'failed: content_invalid': 1, 'fired: matched': 1 });
  expect(await count(db, 'attention_item', `kind = 'rule_failed'`)).toBe(1);
});
