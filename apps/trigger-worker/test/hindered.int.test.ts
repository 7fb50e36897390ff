import type { Tenant } from '@dueline/contracts';
import { columnOf, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { PermanentError } from '@dueline/kernel';
import { createRule, setRuleEnabled } from '@dueline/trigger-rules';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { processDueActions } from '../src/process-due-actions.ts';
import { claimAll, claimOf, dueActions, fire } from './due.ts';
import { count, createTenant, decideDeps, decisions, later } from './support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await createTenant(own.db, 20);
});
afterEach(() => own[Symbol.asyncDispose]());

/** Each profile, as a way to decide once what is due. */
const PROFILES = {
  queue: async (deps = decideDeps(own.db)) => {
    const tickets = await claimAll(own.db);
    if (tickets.length > 0) await fire(deps, tickets);
  },
  inline: async (deps = decideDeps(own.db)) => {
    await processDueActions(deps, claimOf('inline'))();
  },
} as const;
const profiles = ['queue', 'inline'] as const;
const states = () =>
  columnOf(
    own.db,
    `select concat_ws(' ', status, attempt, retry_count, cancel_reason) from scheduled_action order by id`,
  );
const account = (changes: string) =>
  own.db.$client.query(`update line_oa set ${changes} where id = $1`, [tenant.lineOaId]);
/** Quiet hours around the present local time: from an hour ago, for `hours` hours. */
const quietNow = (policy: string, hours = 2) =>
  account(`quiet_policy = '${policy}', quiet_from = to_char((app_now() - interval '1 hour') at time zone timezone, 'HH24:MI'),
           quiet_to = to_char((app_now() + interval '${hours - 1} hours') at time zone timezone, 'HH24:MI')`);

test.for(profiles)(
  '[T3] %s: what nothing hinders is done, with its delivery and its history, under a new fence',
  async (profile) => {
    await dueActions(own.db, tenant, { count: 2 });
    await PROFILES[profile]();
    expect(
      await columnOf(own.db, `select concat_ws(' ', status, fence, executed_at is not null) from scheduled_action`),
    ).toEqual(Array.from({ length: 2 }, () => (profile === 'inline' ? 'done 1 t' : 'done 2 t'))); // inline writes each row once
    expect(await count(own.db, 'delivery', `status = 'planned'`)).toBe(2);
    expect(await decisions(own.db)).toEqual({ 'fired: due': 2 });
  },
);

test.for(profiles)(
  '[T6] %s: what is later than it may be is cancelled as expired; what is late but not too late runs',
  async (profile) => {
    await dueActions(own.db, tenant, { count: 3 });
    await own.db.$client.query(
      `update scheduled_action set max_lateness_seconds = case id % 3 when 0 then 3600 when 1 then 7200 end, due_at = due_at - interval '90 minutes'`,
    );
    await PROFILES[profile]();
    expect((await states()).toSorted()).toEqual(['cancelled 1 0 expired', 'done 1 0', 'done 1 0']);
    expect(await decisions(own.db)).toEqual({ 'cancelled: expired': 1, 'fired: due': 2 });
  },
);

test.for(profiles)(
  '[T7] %s: quiet hours shift a message to their end, spread, with its try given back; then it runs',
  async (profile) => {
    await dueActions(own.db, tenant, { count: 20 });
    await quietNow('shift');
    await PROFILES[profile]();
    expect(new Set(await states())).toEqual(new Set(['pending 0 0']));
    expect(await decisions(own.db)).toEqual({ 'deferred: quiet_hours': 20 });
    const waits = (
      await columnOf(
        own.db,
        `select extract(epoch from execute_at - quiet_until(app_now(), timezone, quiet_from, quiet_to))
         from scheduled_action join line_oa on line_oa.id = line_oa_id`,
      )
    ).map(Number);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(0); // never earlier than allowed
    expect(Math.max(...waits)).toBeLessThan(600);
    expect(new Set(waits).size).toBeGreaterThan(10);
    expect(await columnOf(own.db, 'select count(*) from scheduled_action where due_at < app_now()')).toEqual(['20']);

    await moveProductTime(own.db, 2 * 3_600);
    await PROFILES[profile]();
    expect(new Set(await states())).toEqual(new Set(['done 1 0']));
  },
);

test.for(profiles)('[T7] %s: an account may drop in quiet hours, or ignore them', async (profile) => {
  await dueActions(own.db, tenant, { count: 1 });
  await quietNow('drop');
  await PROFILES[profile]();
  await dueActions(own.db, tenant, { count: 1, dedupKey: 'second' });
  await quietNow('ignore');
  await PROFILES[profile]();
  expect(await states()).toEqual(['cancelled 1 0 quiet_hours', 'done 1 0']);
  expect(await decisions(own.db)).toEqual({ 'cancelled: quiet_hours': 1, 'fired: due': 1 });
});

test('[T7] what must not run any more is cancelled in quiet hours too, and what was shifted too long expires', async () => {
  await dueActions(own.db, tenant, { count: 2 });
  await quietNow('shift');
  await own.db.$client.query(
    `update line_user set is_following = false where user_id like '%0' and user_id like '%00000'`,
  );
  await own.db.$client.query('update scheduled_action set max_lateness_seconds = 600');
  await PROFILES.queue();
  expect(await states()).toEqual(['cancelled 1 0 user_not_following', 'pending 0 0']);
  await moveProductTime(own.db, 2 * 3_600);
  await PROFILES.queue();
  expect(await states()).toEqual(['cancelled 1 0 user_not_following', 'cancelled 1 0 expired']);
});

test.for(['account', 'organization'] as const)(
  '[T7] an action of an %s that is stopped after its claim stays pending and due, with its try given back',
  async (what) => {
    await dueActions(own.db, tenant, { count: 1 });
    const tickets = await claimAll(own.db);
    const stop = what === 'account' ? 'update line_oa' : 'update organization';
    await own.db.$client.query(`${stop} set stopped_at = app_now()`);
    await fire(decideDeps(own.db), tickets);
    expect(await states()).toEqual(['pending 0 0']);
    expect(await count(own.db, 'scheduled_action', 'execute_at = due_at')).toBe(1);
    expect(await decisions(own.db)).toEqual({ 'deferred: account_stopped': 1 });
    expect(await count(own.db, 'delivery')).toBe(0);
  },
);

const rule = (whenDisabled: 'cancel' | 'hold') =>
  createRule(own.db, tenant, {
    ...{ name: 'rule', sourceType: 'attribute_changed', sourceConfig: { attribute: 'city' }, whenDisabled },
    ...{ actionType: 'send_message', actionConfig: later(60), frequency: 'every_time' },
  });

test('[T7] a rule that holds: its actions wait while it is disabled, are looked at ever more seldom, and run when it is enabled', async () => {
  const ruleId = await rule('hold');
  await dueActions(own.db, tenant, { count: 1, triggerRuleId: ruleId, ruleVersion: 1 });
  await setRuleEnabled(own.db, tenant, { ruleId, enabled: false });
  const waits: number[] = [];
  for (let looks = 0; looks < 9; looks += 1) {
    await PROFILES.queue();
    const [wait] = await columnOf(own.db, 'select extract(epoch from execute_at - app_now()) from scheduled_action');
    waits.push(Math.round(Number(wait) / 60));
    await moveProductTime(own.db, Number(wait) + 1);
  }
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  expect([waits[0], waits.at(-2), waits.at(-1)]).toEqual([1, 60, 60]);
  await setRuleEnabled(own.db, tenant, { ruleId, enabled: true });
  await PROFILES.queue();
  expect(await states()).toEqual(['done 1 0']);
  expect(await decisions(own.db)).toEqual({ 'deferred: rule_disabled': 9, 'fired: due': 1 });
});

test('[T6] an action that its disabled rule held until its max_lateness was over is cancelled as expired', async () => {
  const ruleId = await rule('hold');
  await dueActions(own.db, tenant, { count: 1, triggerRuleId: ruleId, ruleVersion: 1 });
  await own.db.$client.query('update scheduled_action set max_lateness_seconds = 3600');
  await setRuleEnabled(own.db, tenant, { ruleId, enabled: false });
  await PROFILES.queue();
  await moveProductTime(own.db, 3_601);
  await PROFILES.queue();
  expect(await decisions(own.db)).toEqual({ 'deferred: rule_disabled': 1, 'cancelled: expired': 1 });
});

test('[T6] a rule that does not hold: its actions are cancelled when they come due while it is disabled, and live through a short toggle', async () => {
  const ruleId = await rule('cancel');
  await dueActions(own.db, tenant, { count: 1, triggerRuleId: ruleId, ruleVersion: 1 });
  await setRuleEnabled(own.db, tenant, { ruleId, enabled: false });
  await setRuleEnabled(own.db, tenant, { ruleId, enabled: true });
  await PROFILES.queue();
  await dueActions(own.db, tenant, { count: 1, triggerRuleId: ruleId, ruleVersion: 1, dedupKey: 'second' });
  await setRuleEnabled(own.db, tenant, { ruleId, enabled: false });
  await PROFILES.queue();
  expect(await states()).toEqual(['done 1 0', 'cancelled 1 0 rule_disabled']);
});

test('an action of a rule that was edited keeps the content that it was made with, and its history says of which version', async () => {
  const ruleId = await rule('cancel');
  await dueActions(own.db, tenant, { count: 1, triggerRuleId: ruleId, ruleVersion: 1 });
  await own.db.$client.query(
    `update trigger_rule set version = 7, action_config = '{"messages": [{"type": "text", "text": "new"}]}'`,
  );
  await PROFILES.queue();
  expect(await columnOf(own.db, 'select rule_version from trigger_log')).toEqual(['1']);
  expect(await columnOf(own.db, `select body::jsonb #>> '{messages,0,text}' from delivery`)).toEqual(['hello']);
});

const FAILURES: [what: string, error: Error, expected: string, decided: Record<string, number>][] = [
  ['[T4] an error that may pass is tried again', new Error('odd'), 'pending 1 1', { 'retried: decision_failed': 1 }],
  ['[T5] a fatal one fails at once', new PermanentError('never'), 'failed 1 0', { 'failed: decision_failed': 1 }],
];
test.for(profiles.flatMap((profile) => FAILURES.map((failure) => [profile, ...failure] as const)))(
  '%s: %s, alone',
  async ([profile, , error, expected, decided]) => {
    await dueActions(own.db, tenant, { count: 2 });
    const deps = decideDeps(own.db);
    const meet = (userId: string) => {
      if (userId.endsWith('1')) throw error;
    };
    await PROFILES[profile]({ ...deps, meet } as typeof deps);
    expect(await states()).toEqual(['done 1 0', expected]);
    expect(await decisions(own.db)).toEqual({ ...decided, 'fired: due': 1 });
    expect(await count(own.db, 'attention_item', `kind = 'action_failed' and reason_code = 'decision_failed'`)).toBe(
      expected.startsWith('failed') ? 1 : 0,
    );
  },
);

test('[T5] an action whose retries are used up fails, once, with one item that needs a person', async () => {
  await dueActions(own.db, tenant, { count: 1 });
  const meet = () => {
    throw new Error('odd');
  };
  for (let tries = 0; tries < 6; tries += 1) {
    await PROFILES.queue({ ...decideDeps(own.db), meet } as ReturnType<typeof decideDeps>);
    await moveProductTime(own.db, 601);
  }
  expect(await states()).toEqual(['failed 4 3']);
  expect(await decisions(own.db)).toEqual({ 'retried: decision_failed': 3, 'failed: decision_failed': 1 });
  expect(await columnOf(own.db, 'select detail::text from attention_item')).toEqual([
    '{"retryCount": 3, "rescueCount": 0}',
  ]);
});
