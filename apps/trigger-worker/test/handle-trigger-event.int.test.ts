import { testDb } from '@dueline/db/testing';
import { deleteRule, setRuleEnabled } from '@dueline/trigger-rules';
import { expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
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

const context = { signal: new AbortController().signal };

test('an event becomes a delivery now and a waiting action later, with a history row each', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db);
  await createCityRule(db, tenant);
  await createCityRule(db, tenant, { actionConfig: later(60) });
  await setAttributes(db, tenant, { city: '東京 🗼' }, [0, 1, 2]);
  const deps = decideDeps(db);

  const outcome = await handleTriggerEvents(deps, 'attribute_changed')(
    message(tenant, { tickets: await announceAll(db) }),
    context,
  );

  expect(outcome).toEqual({ outcome: 'done', detail: { events: 3 } });
  expect(await decisions(db)).toEqual({ 'fired: matched': 3, 'scheduled: matched': 3 });
  expect(await count(db, 'delivery', `status = 'planned' and kind = 'event'`)).toBe(3);
  expect(
    await count(db, 'scheduled_action', `status = 'pending' and execute_at = created_at + interval '60 seconds'`),
  ).toBe(3);
  expect(await count(db, 'event_archive')).toBe(3);
  expect(await count(db, 'event_outbox')).toBe(0);
  expect(deps.handedOver).toHaveLength(3);
});

test('a message that is delivered twice, even at the same moment, decides each event once', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db);
  await createCityRule(db, tenant);
  await createCityRule(db, tenant, { actionConfig: later(60) });
  await setAttributes(db, tenant, { city: 'Osaka' }, [0, 1, 2, 3, 4]);
  const deps = decideDeps(db);
  const handle = handleTriggerEvents(deps, 'attribute_changed');
  const copy = message(tenant, { tickets: await announceAll(db) });

  await Promise.all([handle(copy, context), handle(copy, context), handle(copy, context)]);
  const late = await handle(copy, context);

  expect(late).toMatchObject({ outcome: 'discarded' });
  expect(await count(db, 'delivery')).toBe(5);
  expect(await count(db, 'scheduled_action')).toBe(5);
  expect(await decisions(db)).toEqual({ 'fired: matched': 5, 'scheduled: matched': 5 });
});

test('a message that names the rows of another tenant decides nothing', async () => {
  await using database = await testDb();
  const { db } = database;
  const [mine, other] = [await createTenant(db), await createTenant(db)];
  await createCityRule(db, mine);
  await setAttributes(db, mine, { city: 'Kyoto' }, [0]);
  const tickets = await announceAll(db);

  const outcome = await handleTriggerEvents(decideDeps(db), 'attribute_changed')(message(other, { tickets }), context);

  expect(outcome).toMatchObject({ outcome: 'discarded' });
  expect(await count(db, 'event_outbox', `status = 'published'`)).toBe(1);
  expect(await count(db, 'trigger_log')).toBe(0);
});

test('rules that do not match, are disabled, deleted or broken do nothing, and the history says what it must', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db);
  await createCityRule(db, tenant, { sourceConfig: { attribute: 'city', to: 'Nara' } });
  await createCityRule(db, tenant, {
    sourceConfig: { attribute: 'city', conditions: { attribute: 'tier', op: 'eq', value: 'gold' } },
  });
  await createCityRule(db, tenant, { sourceConfig: { attribute: 'tier' } });
  await setRuleEnabled(db, tenant, { ruleId: await createCityRule(db, tenant), enabled: false });
  await deleteRule(db, tenant, await createCityRule(db, tenant));
  await db.$client.query(`update trigger_rule set source_config = '{"nonsense": 1}' where id = $1`, [
    await createCityRule(db, tenant),
  ]);
  await setAttributes(db, tenant, { city: 'Kobe' }, [0]);

  await handleTriggerEvents(decideDeps(db), 'attribute_changed')(
    message(tenant, { tickets: await announceAll(db) }),
    context,
  );

  expect(await decisions(db)).toEqual({
    'failed: rule_invalid': 1,
    'not_matched: conditions_not_met': 1,
    'not_matched: value_not_matched': 1,
  });
  expect(await count(db, 'delivery')).toBe(0);
});

test('a rule fires within its frequency only, whatever happens at once', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db);
  await createCityRule(db, tenant, { frequency: 'once_per_hour' });
  for (const city of ['a', 'b', 'c', 'd']) await setAttributes(db, tenant, { city }, [0]);
  const handle = handleTriggerEvents(decideDeps(db), 'attribute_changed');
  const tickets = await announceAll(db);

  await Promise.all(tickets.map((ticket) => handle(message(tenant, { tickets: [ticket] }), context)));

  expect(tickets).toHaveLength(4);
  expect(await decisions(db)).toEqual({ 'fired: matched': 1, 'suppressed: frequency': 3 });
  expect(await count(db, 'delivery')).toBe(1);
});

test.for([
  ['is refused', '22000'],
  ['takes too long', '57014'],
] as const)(
  'one event that spoils its message, because it %s, costs itself only: the others are decided, it is tried again later',
  async ([, code]) => {
    await using database = await testDb();
    const { db } = database;
    const tenant = await createTenant(db);
    await createCityRule(db, tenant);
    await setAttributes(db, tenant, { city: 'Sapporo' }, [0, 1, 2]);
    const tickets = await announceAll(db);
    await db.$client.query(`
    create function spoil() returns trigger language plpgsql as $$ begin raise exception 'spoilt' using errcode = '${code}'; end $$;
    create trigger spoil before insert on delivery for each row when (new.user_id = 'U00000000000000000000000000000001') execute function spoil()`);
    const deps = decideDeps(db);

    const outcome = await handleTriggerEvents(deps, 'attribute_changed')(message(tenant, { tickets }), context);

    expect(outcome).toEqual({ outcome: 'done', detail: { events: 2 } });
    expect(await decisions(db)).toEqual({ 'fired: matched': 2 });
    expect(await count(db, 'event_outbox', `attempts = 1 and lease_until > clock_timestamp()`)).toBe(1);
    expect(deps.errors).toHaveLength(1);
  },
);

test('an attribute that a person lost while the event waited leaves nobody out, and a person who is gone is skipped', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db);
  await createCityRule(db, tenant, { sourceConfig: { attribute: 'city', to: 'Naha' } });
  await setAttributes(db, tenant, { city: 'Naha' }, [0, 1]);
  const tickets = await announceAll(db);
  await db.$client.query(`update line_user set attributes = '{}' where user_id = 'U00000000000000000000000000000000'`);
  await db.$client.query(`delete from line_user where user_id = 'U00000000000000000000000000000001'`);

  await handleTriggerEvents(decideDeps(db), 'attribute_changed')(message(tenant, { tickets }), context);

  expect(await decisions(db)).toEqual({ 'fired: matched': 1, 'suppressed: user_unknown': 1 });
});
