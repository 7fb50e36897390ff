import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { columnOf, testDb } from '@dueline/db/testing';
import { createRule, type RuleDraft } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { context } from './due.ts';
import { announceAll, count, createCityRule, createTenant, decideDeps, decisions, message, userId } from './support.ts';

/** One more than a statement may touch without being a flood. */
const PEOPLE = 1_001;
/** Tickets of one message. */
const AT_ONCE = 100;

const to = (city: string): Partial<RuleDraft<'send_message'>> => ({ sourceConfig: { attribute: 'city', to: city } });
const ifGold: Partial<RuleDraft<'send_message'>> = {
  sourceConfig: { attribute: 'city', conditions: { attribute: 'tier', op: 'eq', value: 'gold' } },
};

/** Decides all that is announced as the consumer gets it: a hundred to a message. Returns how often it was told that something was decided. */
async function decideAll(db: Db, tenant: Tenant): Promise<Record<string, number>> {
  const told: Record<string, number> = {};
  const onDecided = (_: string, decision: string) => {
    told[decision] = (told[decision] ?? 0) + 1;
  };
  const deps = { ...decideDeps(db), onDecided };
  for (;;) {
    const tickets = await announceAll(db);
    if (tickets.length === 0) break;
    for (let at = 0; at < tickets.length; at += AT_ONCE)
      await handleTriggerEvents(deps, 'attribute_changed')(
        message(tenant, { tickets: tickets.slice(at, at + AT_ONCE) }),
        context,
      );
  }
  expect(deps.errors).toEqual([]);
  return told;
}

/** Everybody moves to Oslo in one statement; person 7 is the only one with the tier gold. */
async function flood(db: Db, tenant: Tenant): Promise<void> {
  const where = 'line_oa_id = $1';
  await db.$client.query('alter table line_user disable trigger line_user_attributes_updated');
  await db.$client.query(`update line_user set attributes = '{"tier": "gold"}' where ${where} and user_id = $2`, [
    tenant.lineOaId,
    userId(7),
  ]);
  await db.$client.query('alter table line_user enable trigger line_user_attributes_updated');
  await db.$client.query(`update line_user set attributes = attributes || '{"city": "Oslo"}' where ${where}`, [
    tenant.lineOaId,
  ]);
}

test('of a flood, who was sent something has a row, and whom a rule did not match is counted with some samples', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, PEOPLE);
  const gold = await createCityRule(db, tenant, ifGold);
  await createCityRule(db, tenant, to('Rome'));
  await flood(db, tenant);

  const told = await decideAll(db, tenant);

  const unmatched = { 'not_matched: conditions_not_met': PEOPLE - 1, 'not_matched: value_not_matched': PEOPLE };
  expect(await decisions(db)).toEqual({ 'fired: matched': 1, ...unmatched });
  expect(told).toEqual({ fired: 1, not_matched: 2 * PEOPLE - 1 });
  expect(await columnOf(db, `select user_id from trigger_log where decision = 'fired'`)).toEqual([userId(7)]);
  expect(await count(db, 'trigger_log')).toBeLessThan(30);
  const [samples] = await columnOf(
    db,
    `select jsonb_array_length(detail -> 'samples') || ' ' || (detail #>> '{samples,0,detail,leaves}')
       from trigger_log where trigger_rule_id = $1 and user_id is null limit 1`,
    [gold],
  );
  expect(samples).toMatch(/^5 .*tier/);
});

test('everybody has a row of a rule that keeps its full history, and of what is no flood', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, PEOPLE);
  await createCityRule(db, tenant, { ...to('Rome'), fullHistory: true });
  await flood(db, tenant);
  await decideAll(db, tenant);
  expect(await count(db, 'trigger_log', 'user_id is not null and evaluations = 1')).toBe(PEOPLE);

  await db.$client.query('truncate trigger_log');
  await createCityRule(db, tenant, to('Kyoto'));
  await db.$client.query(`update line_user set attributes = '{"city": "Bern"}' where user_id <= $1`, [userId(49)]);
  await decideAll(db, tenant);
  expect(await count(db, 'trigger_log', 'user_id is not null')).toBe(100);
});

test('who follows no more, and meets a rule in a flood, is written down one by one: that is no mismatch', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, PEOPLE);
  await createCityRule(db, tenant);
  await db.$client.query('update line_user set is_following = false where user_id <= $1', [userId(99)]);
  await flood(db, tenant);
  await decideAll(db, tenant);
  expect(await decisions(db)).toEqual({ 'fired: matched': PEOPLE - 100, 'suppressed: user_not_following': 100 });
  expect(await count(db, 'trigger_log')).toBe(PEOPLE);
});

test('history names what led to an event, of what is done at once and of what waits', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, 1);
  await createRule(db, tenant, {
    ...{ name: 'gold', sourceType: 'attribute_changed', sourceConfig: { attribute: 'city' }, frequency: 'every_time' },
    ...{ actionType: 'set_attribute', actionConfig: { key: 'tier', value: 'gold' } },
  });
  const onTier = { sourceConfig: { attribute: 'tier' } };
  await createCityRule(db, tenant, onTier);
  const delay = { seconds: 60, reEvaluateConditions: false };
  await createCityRule(db, tenant, { ...onTier, actionConfig: { messages: [{ type: 'text', text: 'x' }], delay } });
  await db.$client.query(`update line_user set attributes = '{"city": "Oslo"}'`);
  await decideAll(db, tenant);
  await decideAll(db, tenant);
  const rows = await columnOf(
    db,
    `select concat_ws(' ', log.decision, log.action_type, cause.depth,
                      case when log.root_id = log.event_id then 'first' when log.root_id = log.cause_id then 'second' end)
       from trigger_log as log left join event_archive as cause on cause.event_id = log.cause_id order by log.id`,
  );
  expect(rows.sort()).toEqual([
    'fired send_message 0 second',
    'fired set_attribute first',
    'scheduled send_message 0 second',
  ]);
});
