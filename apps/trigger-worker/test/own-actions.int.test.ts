import type { ActionRequest, Tenant } from '@dueline/contracts';
import { checkInvariants, type Db } from '@dueline/db';
import { columnOf, type TestDb, testDb } from '@dueline/db/testing';
import { DELIVERY_INVARIANTS } from '@dueline/deliveries';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { createRule, MAX_DEPTH, type RuleDraft } from '@dueline/trigger-rules';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { processDueActions } from '../src/process-due-actions.ts';
import { claimAll, claimOf, context, dueActions, fire } from './due.ts';
import { announceAll, count, createTenant, decideDeps, decisions, message, setAttributes, userId } from './support.ts';

let database: TestDb;
let db: Db;
let tenant: Tenant;
let audienceId: string;

beforeAll(async () => {
  database = await testDb();
  db = database.db;
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(async () => {
  await db.$client.query('truncate trigger_log, attention_item, scheduled_action, event_outbox, event_archive cascade');
  tenant = await createTenant(db, 500);
  audienceId = await createAudience(db, tenant, { name: 'คนรักกาแฟ ☕' });
  await addAudienceMembers(db, tenant, { audienceId, userIds: [userId(1)] });
});

const LIMITS = { leaseOverSeconds: 60, silentSeconds: 60, overdueSeconds: 60, historyDays: 1 };
const EVERY = Array.from({ length: 500 }, (_, n) => n);
const source = { name: 'city', sourceType: 'attribute_changed', sourceConfig: { attribute: 'city' } } as const;
const members = () => count(db, 'audience_member', `audience_id = ${audienceId}`);
const attributesOf = async (n: number): Promise<object> => {
  const text = 'select attributes from line_user where line_oa_id = $1 and user_id = $2';
  const { rows } = await db.$client.query<{ attributes: object }>(text, [tenant.lineOaId, userId(n)]);
  return rows[0]?.attributes ?? {};
};

async function decideEvents(): Promise<void> {
  const deps = decideDeps(db);
  await handleTriggerEvents(deps, 'attribute_changed')(message(tenant, { tickets: await announceAll(db) }), context);
  expect(deps.handedOver).toEqual([]);
  expect(deps.errors).toEqual([]);
}

type Given = (audienceId: string) => ActionRequest;
const OWN: [name: string, request: Given, changed: () => Promise<void>][] = [
  [
    'joins an audience',
    (id) => ({ actionType: 'add_to_audience', actionConfig: { audienceId: id } }),
    async () => expect(await members()).toBe(500),
  ],
  [
    'leaves an audience',
    (id) => ({ actionType: 'remove_from_audience', actionConfig: { audienceId: id } }),
    async () => expect(await members()).toBe(0),
  ],
  [
    'is given an attribute',
    () => ({ actionType: 'set_attribute', actionConfig: { key: '階級 🏅', value: '金' } }),
    async () => expect(await attributesOf(499)).toMatchObject({ '階級 🏅': '金' }),
  ],
  [
    'loses an attribute',
    () => ({ actionType: 'set_attribute', actionConfig: { key: 'city', value: null } }),
    async () => expect(await attributesOf(499)).toEqual({}),
  ],
];

test.for(OWN)(
  'of 500 people each %s with the decision, blocked or not, and nothing is sent',
  async ([, request, changed]) => {
    await createRule(db, tenant, { ...source, frequency: 'once', ...request(audienceId) } as RuleDraft);
    await db.$client.query('update line_user set is_following = false where user_id = $1', [userId(499)]);
    await setAttributes(db, tenant, { city: '東京 🗼' }, EVERY);
    await decideEvents();
    await changed();
    expect(await decisions(db)).toEqual({ 'fired: matched': 500 });
    expect(await count(db, 'delivery')).toBe(0);
  },
);

test.for(OWN)(
  'of 500 people each %s when the action comes due, and once however often its message comes [T38]',
  async ([, request, changed]) => {
    await setAttributes(db, tenant, { city: 'Osaka' }, EVERY);
    await db.$client.query('delete from event_outbox');
    await dueActions(db, tenant, { count: 500, request: request(audienceId) });
    const tickets = await claimAll(db);
    const deps = decideDeps(db);
    await Promise.all([fire(deps, tickets), fire(deps, tickets)]);
    await fire(deps, tickets);
    await changed();
    expect(await decisions(db)).toEqual({ 'fired: due': 500 });
    expect(await count(db, 'scheduled_action', `status = 'done'`)).toBe(500);
    expect(deps.handedOver).toEqual([]);
    const violated = await checkInvariants(db, DELIVERY_INVARIANTS, LIMITS);
    expect(violated.filter(({ violations }) => violations > 0)).toEqual([]);
  },
);

test('an audience that was deleted in the meantime fails the action and says so, and harms no other', async () => {
  const kept = await createAudience(db, tenant, { name: 'kept' });
  const add = (id: string): ActionRequest => ({ actionType: 'add_to_audience', actionConfig: { audienceId: id } });
  await createRule(db, tenant, { ...source, frequency: 'every_time', ...add(audienceId) } as RuleDraft);
  await createRule(db, tenant, { ...source, frequency: 'every_time', ...add(kept) } as RuleDraft);
  await dueActions(db, tenant, { count: 1, request: add(audienceId) });
  await db.$client.query('update audience set deleted_date = app_now() where id = $1', [audienceId]);
  await setAttributes(db, tenant, { city: 'Kyoto' }, [0]);
  await decideEvents();
  await fire(decideDeps(db), await claimAll(db));
  expect(await decisions(db)).toEqual({ 'failed: audience_deleted': 2, 'fired: matched': 1 });
  expect(await count(db, 'audience_member', `audience_id = ${kept}`)).toBe(1);
  expect(await count(db, 'attention_item', `kind = 'action_failed' and reason_code = 'audience_deleted'`)).toBe(1);
});

test('of several changes of one person in one batch the last counts, and they make one event', async () => {
  const set = (key: string, value: string | null) => ({ actionType: 'set_attribute', actionConfig: { key, value } });
  for (const action of [set('a', '1'), set('a', null), set('b', null), set('b', '2'), set('__proto__', '3')])
    await createRule(db, tenant, { ...source, frequency: 'every_time', ...action } as RuleDraft);
  await setAttributes(db, tenant, { city: 'Nara', a: '0' }, [0]);
  await decideEvents();
  expect(JSON.stringify(await attributesOf(0))).toContain('"__proto__":"3"');
  expect(await attributesOf(0)).toMatchObject({ city: 'Nara', b: '2' });
  expect(await count(db, 'event_outbox')).toBe(1);
});

test('what an action sets leads to what follows from it, under the same root', async () => {
  await createRule(db, tenant, { ...source, actionType: 'set_attribute', actionConfig: { key: 'vip', value: true } });
  await setAttributes(db, tenant, { city: 'Kobe' }, [0]);
  await decideEvents();
  const { rows } = await db.$client.query(
    `select next.depth, next.cause_id = first.event_id as caused, next.root_id = first.root_id as rooted
       from event_outbox as next, event_archive as first`,
  );
  expect(rows).toEqual([{ depth: 1, caused: true, rooted: true }]);
});

test('a rule that feeds itself is stopped after a while, and a person is told once', async () => {
  const flip = (from: string, to: string): RuleDraft => ({
    ...source,
    sourceConfig: { attribute: 'city', to: from },
    ...{ actionType: 'set_attribute', actionConfig: { key: 'city', value: to }, frequency: 'every_time' },
  });
  await createRule(db, tenant, flip('tick', 'tock'));
  await createRule(db, tenant, flip('tock', 'tick'));
  await setAttributes(db, tenant, { city: 'tick' }, [0, 1]);
  for (let round = 0; round <= MAX_DEPTH + 1; round += 1)
    if ((await count(db, 'event_outbox')) > 0) await decideEvents();
  expect(await count(db, 'event_outbox')).toBe(0);
  const { 'not_matched: value_not_matched': _, ...made } = await decisions(db);
  expect(made).toEqual({ 'fired: matched': 2 * MAX_DEPTH, 'suppressed: rule_loops': 2 });
  expect(await count(db, 'attention_item', `kind = 'rule_loops'`)).toBe(1);
});

test('what other writers call a cause, and is none, fails nobody', async () => {
  await createRule(db, tenant, { ...source, actionType: 'set_attribute', actionConfig: { key: 'vip', value: true } });
  const client = await db.$client.connect();
  try {
    for (const [n, causes] of [
      '{',
      '[]',
      `{"${tenant.lineOaId}:${userId(0)}": {"cause": "x", "root": 7, "depth": "1e9"}}`,
    ].entries()) {
      await client.query('begin');
      await client.query(`select set_config('app.causes', $1, true)`, [causes]);
      await client.query('update line_user set attributes = $1 where line_oa_id = $2 and user_id = $3', [
        { city: `${n}` },
        tenant.lineOaId,
        userId(0),
      ]);
      await client.query('commit');
    }
  } finally {
    client.release();
  }
  expect(await count(db, 'event_outbox', 'depth = 0 and cause_id is null and root_id = event_id')).toBe(3);
});

test('a rule cannot name an audience that is gone, or that of another account', async () => {
  const other = await createTenant(db, 0);
  const draft = (id: string): RuleDraft => ({
    ...source,
    actionType: 'add_to_audience',
    actionConfig: { audienceId: id },
  });
  const says = 'rule is invalid at /rule/actionConfig/audienceId: there is no such audience in this account';
  await expect(createRule(db, other, draft(audienceId))).rejects.toThrow(says);
  await db.$client.query('update audience set deleted_date = app_now() where id = $1', [audienceId]);
  await expect(createRule(db, tenant, draft(audienceId))).rejects.toThrow(says);
});

test('what an account names of another one is not there for it, also beside one of the other that names it for the same person', async () => {
  const other = await createTenant(db, 2);
  const leaves = { actionType: 'remove_from_audience', actionConfig: { audienceId } } as const;
  const [mine] = await dueActions(db, tenant, { count: 2, request: leaves });
  const [theirs] = await dueActions(db, other, { count: 2, request: leaves });
  const claim = claimOf('inline');
  await processDueActions(decideDeps(db), claim)();
  expect(
    await columnOf(db, `select concat_ws(' ', line_oa_id, status, last_error) from scheduled_action order by id`),
  ).toEqual([
    ...Array.from({ length: 2 }, () => `${tenant.lineOaId} done`),
    ...Array.from({ length: 2 }, () => `${other.lineOaId} failed its audience is deleted`),
  ]);
  expect([mine, theirs]).not.toContain(undefined);
  expect(await members()).toBe(0);
});

test('whether a person is in an audience is asked for the account of the rule, whoever asks beside it', async () => {
  const other = await createTenant(db, 2);
  const conditions = { version: 1, when: { audience: audienceId, op: 'member' } };
  const add = { name: 'in', actionType: 'set_attribute', actionConfig: { key: 'vip', value: true } } as const;
  await createRule(db, tenant, { ...source, ...add, sourceConfig: { attribute: 'city', conditions } } as RuleDraft);
  const foreign = await createRule(db, other, { ...source, ...add } as RuleDraft);
  await db.$client.query(`update trigger_rule set source_config = source_config || $1 where id = $2`, [
    JSON.stringify({ conditions }),
    foreign,
  ]);
  for (const of of [tenant, other]) await setAttributes(db, of, { city: 'Edo' }, [1]);
  const tickets = await announceAll(db);
  const both = Object.values(Object.groupBy(tickets, ({ lineOaId }) => lineOaId)).flatMap((some) =>
    some ? [some] : [],
  );
  const deps = decideDeps(db);
  const decideAll = handleTriggerEvents(deps, 'attribute_changed');
  const busy = [1, 2].map(() => message(tenant, { tickets: [] })); // so that what comes meanwhile is decided together
  const messages = [...busy, ...both.map((some) => message(some[0] ?? tenant, { tickets: some }))];
  await Promise.all(messages.map((one) => decideAll(one, context)));
  expect(await columnOf(db, `select concat_ws(' ', line_oa_id, decision) from trigger_log order by 1`)).toEqual([
    `${tenant.lineOaId} fired`,
    `${other.lineOaId} not_matched`,
  ]);
});
