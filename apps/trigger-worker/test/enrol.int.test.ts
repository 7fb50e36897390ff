import type { Tenant } from '@dueline/contracts';
import { moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import {
  cancelEnrolment,
  claimEnrolmentPage,
  confirmEnrolment,
  listEnrolments,
  setRuleEnabled,
  startEnrolment,
} from '@dueline/trigger-rules';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { enrolPeople } from '../src/enrol-people.ts';
import { count, createCityRule, createTenant, decideDeps, decisions, later, userId } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await createTenant(own.db, 1_200);
  await own.db.$client.query(
    `update line_user set attributes = '{"city": "Edo"}' where right(user_id, 1) in ('0', '8')`, // 150 people
  );
  await own.db.$client.query('delete from event_outbox');
});
afterEach(() => own[Symbol.asyncDispose]());

const start = (ruleId: string, perMinute = 60_000) =>
  startEnrolment(own.db, tenant, { ruleId, perMinute, startedBy: 'mika' });
const last = async () => (await listEnrolments(own.db, tenant))[0];
async function run(deps = decideDeps(own.db)): Promise<void> {
  while (await enrolPeople(deps)) await moveProductTime(own.db, 60);
  expect(deps.errors).toEqual([]);
}

test('who matches already is counted first, and enters when that is confirmed, each once', async () => {
  const id = await start(await createCityRule(own.db, tenant, { sourceConfig: { attribute: 'city', to: 'Edo' } }));
  await run();
  expect(await last()).toMatchObject({ id, status: 'counted', examined: 1_200, matched: 150, entered: 0 });
  expect(await count(own.db, 'delivery')).toBe(0);
  expect(await confirmEnrolment(own.db, tenant, id)).toBe(true);
  const deps = decideDeps(own.db);
  await run(deps);
  expect(await last()).toMatchObject({ status: 'done', examined: 1_200, matched: 150, entered: 150 });
  expect(await decisions(own.db)).toEqual({ 'fired: matched': 150 });
  expect(await count(own.db, 'trigger_log', `trigger_on = 'enrolment' and rule_version = 1`)).toBe(150);
  expect(deps.handedOver).toHaveLength(150);
  expect(await confirmEnrolment(own.db, tenant, id)).toBe(false);
});

test('what limits a rule limits those who enter it; conditions, blocks and other values keep people out', async () => {
  await own.db.$client.query(`update line_user set is_following = false where user_id = $1`, [userId(0)]);
  await own.db.$client.query(
    `update line_user set attributes = '{"city": "Edo", "vip": true}' where user_id = any($1)`,
    [[userId(0), userId(8), userId(16)]],
  );
  const ruleId = await createCityRule(own.db, tenant, {
    sourceConfig: { attribute: 'city', conditions: { attribute: 'vip', op: 'eq', value: true } },
    ...{ frequency: 'once', actionConfig: later(60) },
  });
  for (const expected of [2, 0]) {
    const id = await start(ruleId);
    await run();
    await confirmEnrolment(own.db, tenant, id);
    await run();
    expect(await last()).toMatchObject({ status: 'done', matched: 2, entered: expected });
  }
  expect(await decisions(own.db)).toEqual({ 'scheduled: matched': 2, 'suppressed: frequency': 2 });
  expect(await count(own.db, 'scheduled_action', 'lane = 2')).toBe(2);
});

test('people enter at the pace that was said', async () => {
  const id = await start(await createCityRule(own.db, tenant), 60);
  await run();
  await confirmEnrolment(own.db, tenant, id);
  const deps = decideDeps(own.db);
  expect([await enrolPeople(deps), await enrolPeople(deps)]).toEqual([true, false]);
  expect(await last()).toMatchObject({ status: 'entering', entered: 5 });
  await moveProductTime(own.db, 5);
  expect([await enrolPeople(deps), await enrolPeople(deps)]).toEqual([true, false]);
  expect(await last()).toMatchObject({ entered: 10 });
});

test('three workers at once, beside one that dies with a page in hand, let each person enter once', async () => {
  const id = await start(await createCityRule(own.db, tenant));
  await run();
  await confirmEnrolment(own.db, tenant, id);
  const dies = async () => {
    await claimEnrolmentPage(own.db); // and is never heard of again
    await own.db.$client.query(
      `update rule_enrolment set lease_until = clock_timestamp() - interval '1 second' where lease_until is not null`,
    );
  };
  const works = async () => {
    const deps = decideDeps(own.db);
    for (let n = 0; n < 12; n += 1) {
      await enrolPeople(deps);
      await own.db.$client.query('update rule_enrolment set next_at = app_now()'); // whatever its pace
    }
    return deps.errors;
  };
  const [, ...errors] = await Promise.all([dies(), works(), works(), works()]);
  expect(errors.flat()).toEqual([]);
  await run();
  expect(await last()).toMatchObject({ status: 'done', matched: 150, entered: 150 });
  expect(await count(own.db, 'delivery')).toBe(150);
});

test('a page that fails is tried again where it stood, and after five times a person is told', async () => {
  const id = await start(await createCityRule(own.db, tenant));
  await run();
  await confirmEnrolment(own.db, tenant, id);
  await own.db.$client.query(`
    create function spoil() returns trigger language plpgsql as $$ begin raise exception 'spoilt' using errcode = '22000'; end $$;
    create trigger spoil before insert on delivery for each row execute function spoil()`);
  const deps = decideDeps(own.db);
  for (let n = 0; n < 6; n += 1) {
    await enrolPeople(deps);
    await moveProductTime(own.db, 11);
  }
  expect(await last()).toMatchObject({ status: 'failed', reasonCode: 'decision_failed', entered: 0 });
  expect(await count(own.db, 'trigger_log')).toBe(0);
  expect(await count(own.db, 'attention_item', `kind = 'rule_failed' and reason_code = 'decision_failed'`)).toBe(1);
});

test('nobody enters a rule that is not what was counted any more, or of an enrolment that a person ended', async () => {
  const ruleId = await createCityRule(own.db, tenant);
  const id = await start(ruleId);
  await run();
  await confirmEnrolment(own.db, tenant, id);
  await setRuleEnabled(own.db, tenant, { ruleId, enabled: false });
  await run();
  expect(await last()).toMatchObject({ status: 'cancelled', reasonCode: 'rule_changed' });
  await setRuleEnabled(own.db, tenant, { ruleId, enabled: true });
  const second = await start(ruleId);
  expect(await cancelEnrolment(own.db, tenant, second)).toBe(true);
  await run();
  expect(await last()).toMatchObject({ id: second, status: 'cancelled', reasonCode: 'by_person' });
  expect(await count(own.db, 'delivery')).toBe(0);
});

test('only a live rule on an attribute can be entered, once at a time, and by its own account', async () => {
  const ruleId = await createCityRule(own.db, tenant);
  const stranger = await createTenant(own.db, 0);
  const how = { ruleId, perMinute: 1, startedBy: 'x' };
  await expect(startEnrolment(own.db, stranger, how)).rejects.toThrow('the rule is not live');
  await expect(start(await createCityRule(own.db, tenant, { mode: 'observe' }))).rejects.toThrow(
    'the rule is not live',
  );
  await expect(start(ruleId, 0)).rejects.toThrow('a pace is');
  const found = await Promise.allSettled([start(ruleId), start(ruleId), start(ruleId)]);
  expect(found.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await cancelEnrolment(own.db, stranger, (await last())?.id ?? '')).toBe(false);
});
