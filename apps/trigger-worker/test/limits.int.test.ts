import type { Tenant } from '@dueline/contracts';
import { columnOf, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import {
  createRule,
  MAX_DECISIONS_PER_ROOT,
  type RuleDraft,
  setFrequencyCap,
  setRuleMode,
} from '@dueline/trigger-rules';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { processDueActions } from '../src/process-due-actions.ts';
import { claimAll, claimOf, context, dueActions, fire } from './due.ts';
import {
  announceAll,
  count,
  createCityRule,
  createTenant,
  decideDeps,
  decisions,
  later,
  message,
  setAttributes,
} from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await createTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const cap = (maxMessages: number) => setFrequencyCap(own.db, tenant, { maxMessages, windowSeconds: 86_400 });
const rule = (parts: Partial<RuleDraft<'send_message'>> = {}) => createCityRule(own.db, tenant, parts);
const account = (changes: string) =>
  own.db.$client.query(`update line_oa set ${changes} where id = $1`, [tenant.lineOaId]);

/** Everything that is told so far, decided in one message. */
async function decide(): Promise<void> {
  const deps = decideDeps(own.db);
  await handleTriggerEvents(deps, 'attribute_changed')(
    message(tenant, { tickets: await announceAll(own.db) }),
    context,
  );
  expect(deps.errors).toEqual([]);
}

/** Everything that is told so far, each event by a worker of its own, at once. */
async function decideAtOnce(): Promise<void> {
  const deps = decideDeps(own.db);
  const handle = handleTriggerEvents(deps, 'attribute_changed');
  const tickets = await announceAll(own.db);
  await Promise.all(tickets.map((ticket) => handle(message(tenant, { tickets: [ticket] }), context)));
  expect(deps.errors).toEqual([]);
}
const move = async (...cities: string[]) => {
  for (const city of cities) await setAttributes(own.db, tenant, { city }, [0]);
};

test('words that cannot be sent spend neither the frequency of their rule nor a place under the cap', async () => {
  await cap(1);
  await rule({
    frequency: 'once',
    actionConfig: { messages: [{ type: 'text', text: '{{ attribute.voucher | "" }}' }] },
  });
  await move('Edo');
  await decide();
  expect(await decisions(own.db)).toEqual({ 'failed: content_invalid': 1 });
  expect([await count(own.db, 'rule_gate'), await count(own.db, 'message_tally')]).toEqual([0, 0]);
  await setAttributes(own.db, tenant, { voucher: 'A1', city: 'Osaka' }, [0]);
  await decide();
  expect(await decisions(own.db)).toEqual({ 'failed: content_invalid': 1, 'fired: matched': 1 });
});

test('an audience that is gone spends no slot', async () => {
  const { rows } = await own.db.$client.query<{ id: string }>(
    `insert into audience (organization_id, line_oa_id, name) values ($1, $2, 'x') returning id::text`,
    [tenant.organizationId, tenant.lineOaId],
  );
  const action = { actionType: 'add_to_audience', actionConfig: { audienceId: rows[0]?.id ?? '' } } as const;
  const source = { name: 'x', sourceType: 'attribute_changed', sourceConfig: { attribute: 'city' } } as const;
  await createRule(own.db, tenant, { ...source, ...action, frequency: 'once' });
  await own.db.$client.query('update audience set deleted_date = app_now()');
  await move('Edo');
  await decide();
  expect(await decisions(own.db)).toEqual({ 'failed: audience_deleted': 1 });
  expect(await count(own.db, 'rule_gate')).toBe(0);
});

test('of five events of one person that are decided at once, as many send as the cap of the account has places', async () => {
  await cap(2);
  await rule();
  await move('a', 'b', 'c', 'd', 'e');
  await decideAtOnce();
  expect(await decisions(own.db)).toEqual({ 'fired: matched': 2, 'suppressed: frequency_cap': 3 });
  expect(await count(own.db, 'delivery')).toBe(2);
});

test.for(['queue', 'inline'] as const)(
  '%s: a message that comes due is cancelled, and says so, where the cap has no place for it',
  async (profile) => {
    await cap(1);
    await rule({ actionConfig: later(0) });
    await rule({ actionConfig: later(0), exemptFromCaps: true });
    await move('a', 'b');
    await decide();
    const deps = decideDeps(own.db);
    if (profile === 'queue') await fire(deps, await claimAll(own.db));
    else await processDueActions(deps, claimOf('inline'))();
    const { 'scheduled: matched': _, ...made } = await decisions(own.db);
    expect(made).toEqual({ 'cancelled: frequency_cap': 1, 'fired: due': 3 });
    expect(await columnOf(own.db, `select cancel_reason from scheduled_action where status = 'cancelled'`)).toEqual([
      'frequency_cap',
    ]);
    expect(await count(own.db, 'delivery')).toBe(3);
  },
);

test('an event and an action that comes due cannot both take the last place', async () => {
  await cap(1);
  await rule();
  await dueActions(own.db, tenant, { count: 1 });
  await move('a');
  const tickets = await claimAll(own.db);
  await Promise.all([decideAtOnce(), fire(decideDeps(own.db), tickets)]);
  expect(await count(own.db, 'delivery')).toBe(1);
});

test('who waits under a rule does not enter it again, at once or in turn, until the wait is over', async () => {
  await rule({ reentry: 'not_while_open', actionConfig: later(60) });
  await move('a', 'b', 'c');
  await decideAtOnce();
  await move('d', 'e');
  await decide();
  expect(await decisions(own.db)).toEqual({ 'scheduled: matched': 1, 'suppressed: already_pending': 4 });
  await moveProductTime(own.db, 61);
  await processDueActions(decideDeps(own.db), claimOf('inline'))();
  await move('f');
  await decide();
  expect(await decisions(own.db)).toMatchObject({ 'scheduled: matched': 2, 'fired: due': 1 });
});

test('who is turned away because something waits has not spent the frequency of the rule', async () => {
  await rule({ reentry: 'not_while_open', frequency: 'once_per_hour', actionConfig: later(7_200) });
  await move('a');
  await decide();
  await moveProductTime(own.db, 3_700);
  await move('b');
  await decide();
  expect(await columnOf(own.db, 'select fired_count from rule_gate')).toEqual(['1']);
  expect(await decisions(own.db)).toEqual({ 'scheduled: matched': 1, 'suppressed: already_pending': 1 });
});

test('who entered a rule that nobody enters twice never does again', async () => {
  await rule({ reentry: 'never' });
  await move('a', 'b', 'c');
  await decideAtOnce();
  expect(await decisions(own.db)).toEqual({ 'fired: matched': 1, 'suppressed: entered_before': 2 });
});

test('a rule that observes says what it would do, within limits of its own, and does nothing', async () => {
  const id = await rule({ mode: 'observe', frequency: 'once' });
  await rule({ mode: 'observe', actionConfig: later(60) });
  await rule({ mode: 'observe', actionConfig: { messages: [{ type: 'text', text: '{{ attribute.voucher | "" }}' }] } });
  await rule({ mode: 'draft' });
  await move('a', 'b');
  await decide();
  expect(await decisions(own.db)).toEqual({
    'observed: content_invalid': 2,
    'observed: matched': 3,
    'suppressed: frequency': 1,
  });
  expect(
    await columnOf(
      own.db,
      `select distinct detail ->> 'would' from trigger_log where decision = 'observed' order by 1`,
    ),
  ).toEqual(['fire', 'wait', null]);
  for (const table of ['delivery', 'scheduled_action', 'attention_item']) expect(await count(own.db, table)).toBe(0);
  await setRuleMode(own.db, tenant, { ruleId: id, mode: 'live' });
  await move('c');
  await decide();
  expect(await count(own.db, 'delivery')).toBe(1); // what it observed spent no slot of it
});

test('what waits under a rule that is taken back to observing is treated as that of a disabled one', async () => {
  const id = await rule({ actionConfig: later(0) });
  await move('a');
  await decide();
  await setRuleMode(own.db, tenant, { ruleId: id, mode: 'observe' });
  await processDueActions(decideDeps(own.db), claimOf('inline'))();
  expect(await decisions(own.db)).toEqual({ 'cancelled: rule_disabled': 1, 'scheduled: matched': 1 });
});

test('changes that one event leads to are stopped at so many decisions, however wide they spread', async () => {
  const set = (key: string, to: string): RuleDraft => ({
    ...{ name: key, sourceType: 'attribute_changed', sourceConfig: { attribute: to }, frequency: 'every_time' },
    ...{ actionType: 'set_attribute', actionConfig: { key, value: `${key}` } },
  });
  for (const n of [1, 2, 3, 4, 5]) await createRule(own.db, tenant, set(`k${n}`, 'city'));
  await setAttributes(own.db, tenant, { city: 'start' }, [0]);
  await own.db.$client.query(`update event_outbox set depth = 1`);
  await own.db.$client.query(
    `insert into root_budget (root_id, organization_id, line_oa_id, decisions)
     select root_id, organization_id, line_oa_id, $1 from event_outbox`,
    [MAX_DECISIONS_PER_ROOT - 3],
  );
  await decide();
  expect(await decisions(own.db)).toEqual({ 'fired: matched': 3, 'suppressed: rule_loops': 2 });
  expect(await count(own.db, 'attention_item', `kind = 'rule_loops'`)).toBe(2); // one for each rule
});

test.for([
  ['drop', { 'suppressed: quiet_hours': 1 }, 0],
  ['shift', { 'fired: matched': 1 }, 1],
  ['ignore', { 'fired: matched': 1 }, 1],
] as const)('an event in quiet hours, where the account says %s', async ([policy, expected, deliveries]) => {
  await rule({ frequency: 'once' });
  await account(`quiet_policy = '${policy}', quiet_from = to_char((app_now() - interval '1 hour') at time zone timezone, 'HH24:MI'),
                 quiet_to = to_char((app_now() + interval '1 hour') at time zone timezone, 'HH24:MI')`);
  await move('a');
  await decide();
  expect(await decisions(own.db)).toEqual(expected);
  expect(await count(own.db, 'delivery')).toBe(deliveries);
  expect(await count(own.db, 'rule_gate')).toBe(deliveries);
});

test('quiet hours may be those of the person: by the clocks where they live, by the account’s for whoever says nothing', async () => {
  await account(`quiet_zone = 'person', quiet_policy = 'drop', timezone = 'UTC',
                 quiet_from = to_char((app_now() - interval '1 hour') at time zone 'Asia/Tokyo', 'HH24:MI'),
                 quiet_to = to_char((app_now() + interval '1 hour') at time zone 'Asia/Tokyo', 'HH24:MI')`);
  await own.db.$client.query(`update line_user set timezone = 'Asia/Tokyo' where user_id like '%0'`);
  await own.db.$client.query(`update line_user set timezone = 'GMT+9' where user_id like '%2'`); // names no place
  await rule();
  await setAttributes(own.db, tenant, { city: 'a' }, [0, 1, 2]);
  await decide();
  expect(await decisions(own.db)).toEqual({ 'fired: matched': 2, 'suppressed: quiet_hours': 1 });
  await dueActions(own.db, tenant, { count: 3 });
  await processDueActions(decideDeps(own.db), claimOf('inline'))();
  expect(
    await columnOf(own.db, `select right(user_id, 1) from scheduled_action where cancel_reason = 'quiet_hours'`),
  ).toEqual(['0']);
});
