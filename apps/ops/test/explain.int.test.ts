import type { Tenant } from '@dueline/contracts';
import {
  columnOf,
  insertTenant,
  insertUsers,
  lineUserId,
  moveProductTime,
  type TestDb,
  testDb,
} from '@dueline/db/testing';
import { createRule, setRuleEnabled, setRuleMode } from '@dueline/trigger-rules';
import { ruleDraft } from '@dueline/trigger-rules/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runExplain } from '../src/explain.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  await insertUsers(own.db, tenant, 3);
});
afterEach(() => own[Symbol.asyncDispose]());

async function explain(...args: string[]) {
  const written = { out: [] as string[], error: [] as string[] };
  const print = (line: string) => written.out.push(line);
  const printError = (line: string) => written.error.push(line);
  const code = await runExplain({ env: { DATABASE_URL: own.urlOf('ops') }, print, printError, login: 'mika' }, args);
  return { out: written.out.join('\n'), error: written.error.join('\n'), code };
}

const setPlan = (plan: string, key = 'plan') =>
  own.db.$client.query(
    'update line_user set attributes = attributes || jsonb_build_object($3::text, $4::text) where line_oa_id = $1 and user_id = $2',
    [tenant.lineOaId, lineUserId(1), key, plan],
  );
/** What was told is decided, and history has lost its line. */
const decide = () =>
  own.db.$client.query(
    `with gone as (delete from event_outbox returning *)
     insert into event_archive (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, root_id, depth)
     select event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, root_id, depth from gone`,
  );
const conditions = { version: 1 as const, when: { attribute: 'city', op: 'eq' as const, value: 'Edo' } };
const gold = ruleDraft({ name: 'gold', sourceConfig: { attribute: 'plan', to: 'gold', conditions } });
const make = (changes = {}) => createRule(own.db, tenant, { ...gold, ...changes });

test('who did not meet the conditions is told which of them, what it asked for and what there was', async () => {
  await make();
  await setPlan('Osaka', 'city');
  await setPlan('gold');
  await decide();
  const { out, code } = await explain('gold', lineUserId(1));
  expect(code).toBe(0);
  expect(out).toMatch(/^✗ it did not fire: its conditions did not hold/);
  expect(out).toMatch(/✗ +\/ +city +eq +"Edo" +"Osaka"/);
  expect(out).toContain('reason    conditions_not_met');
});

const NEVER: [reason: string, make: () => Promise<unknown>][] = [
  ['no_event', () => make()],
  ['event_waits', async () => [await make(), await setPlan('gold')]],
  ['other_events', async () => [await make(), await setPlan('x', 'other'), await decide()]],
  ['rule_not_yet_made', async () => [await setPlan('gold'), await decide(), await make()]],
  ['rule_was_draft', async () => [await make({ mode: 'draft' }), await setPlan('gold'), await decide()]],
  [
    'rule_was_disabled',
    async () => {
      await setRuleEnabled(own.db, tenant, { ruleId: await make(), enabled: false });
      return [await setPlan('gold'), await decide()];
    },
  ],
  [
    'another_version',
    async () => {
      const ruleId = await make({ sourceConfig: { attribute: 'tier' } });
      await setPlan('gold');
      await decide();
      await own.db.$client.query(`update trigger_rule set source_config = '{"attribute": "plan"}' where id = $1`, [
        ruleId,
      ]);
    },
  ],
  [
    'matched',
    async () => {
      const ruleId = await make({ mode: 'draft' });
      await setRuleMode(own.db, tenant, { ruleId, mode: 'live' });
      return [await setPlan('Edo', 'city'), await setPlan('gold'), await decide()];
    },
  ],
];
test.for(NEVER)('what history has no line of has a reason: %s', async ([reason, happens]) => {
  await happens();
  const { out, code } = await explain('gold', lineUserId(1), '--json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ reason, fired: reason === 'matched', basis: 'computed' });
});

test('one event is explained by its id, and that of somebody else is refused', async () => {
  await make();
  await setPlan('silver');
  await decide();
  const [eventId = ''] = await columnOf(own.db, 'select event_id from event_archive');
  const { out } = await explain('gold', lineUserId(1), '--event', String(eventId));
  expect(out).toContain('reason    value_not_matched');
  expect(await explain('gold', lineUserId(2), '--event', String(eventId))).toMatchObject({
    ...{ code: 1, error: expect.stringContaining('is about somebody else') },
  });
});

const daily = {
  ...{ name: 'daily', sourceType: 'scheduled_time' as const, actionType: 'send_message' as const },
  sourceConfig: { cron: '0 9 * * *', conditions: { attribute: 'plan', op: 'eq' as const, value: 'gold' } },
  actionConfig: { messages: [{ type: 'text' as const, text: 'hello' }] },
  ...{ frequency: 'every_time' as const, mode: 'live' as const },
};

test('what a rule that is set off by time will make of a person in its next cycle is told, as things stand, with each condition', async () => {
  await createRule(own.db, tenant, daily);
  await setPlan('silver');
  const { out } = await explain('daily', lineUserId(1));
  expect(out).toMatch(/^✗ as things stand, it will not fire: its conditions do not hold when its action is due/);
  expect(out).toMatch(/cycle {5}\d{4}-\d\d-\d\d 09:00:00 .* ahead/);
  expect(out).toMatch(/✗ +\/all\/0 +plan +eq +"gold" +"silver"/);
  await setPlan('gold');
  expect((await explain('daily', lineUserId(1))).out).toMatch(/^✓ as things stand, it will fire/);
  await own.db.$client.query('update line_user set is_following = false');
  expect((await explain('daily', lineUserId(1))).out).toMatch(
    /^✗ as things stand, it will not fire: its cycle did not meet this person: did not follow the account/,
  );
});

test('a cycle that was left out, one that has not come to a person, and none at all are told apart', async () => {
  const ruleId = await createRule(own.db, tenant, daily);
  await moveProductTime(own.db, 5 * 86_400);
  const reasonOf = async (...args: string[]) =>
    (JSON.parse((await explain('daily', lineUserId(1), ...args, '--json')).out) as { reason: string }).reason;
  expect(await reasonOf('--at', '3d', '--within', '1h')).toBe('no_cycle');
  const insert = (status: string, reason: string | null) =>
    own.db.$client.query(
      `insert into scheduled_trigger_execution (organization_id, line_oa_id, trigger_rule_id, scheduled_at, status, reason_code, completed_at)
       values ($1, $2, $3, app_now() - $4::interval, $5, $6, case when $5 <> 'processing' then app_now() end)`,
      [tenant.organizationId, tenant.lineOaId, ruleId, status === 'processing' ? '1 hour' : '3 days', status, reason],
    );
  await insert('skipped', 'misfire');
  await insert('processing', null);
  expect(await reasonOf('--at', '3d', '--within', '1h')).toBe('cycle_skipped');
  expect(await reasonOf()).toBe('cycle_reads');
});

test.for([
  ['explain needs a rule and a person', 2, 'gold'],
  ['bob is no user id', 2, 'gold', 'bob'],
  ['--event 7: an event has a UUID', 2, 'gold', lineUserId(1), '--event', '7'],
  [
    'either --event, or --at',
    2,
    'gold',
    lineUserId(1),
    '--event',
    '00000000-0000-0000-0000-000000000000',
    '--at',
    '1h',
  ],
  ['the account has no rule gold', 1, 'gold', lineUserId(1)],
] as const)('%s', async ([problem, code, ...args]) => {
  expect(await explain(...args)).toMatchObject({ code, error: expect.stringContaining(problem) });
});
