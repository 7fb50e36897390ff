import type { Tenant, TenantTicket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { handleTriggerEvents } from '../src/handle-trigger-event.ts';
import { context } from './due.ts';
import {
  announceAll,
  count,
  createCityRule,
  createTenant,
  decideDeps,
  decisions,
  later,
  message,
  movedAccounts,
  setAttributes,
  spoilMessagesTo,
  userId,
} from './support.ts';

const ACCOUNTS = 6;
const PEOPLE = 5;
const EVENTS = ACCOUNTS * PEOPLE;
/** One begins at once, and the others wait for company; on a busy machine a second one begins at once, and they wait for the first that ends. */
const MOST_TRANSACTIONS = 3;

const messageOf = (tickets: readonly TenantTicket[], tenant: Tenant) =>
  message(tenant, { tickets: tickets.filter(({ lineOaId }) => lineOaId === tenant.lineOaId) });

/** Gives the consumer these messages at the same moment; says how each ended, and how many transactions decided something. */
async function handleAll(db: Db, messages: readonly ReturnType<typeof messageOf>[]) {
  let transactions = 0;
  const reach = (point: string) => {
    if (point === 'decide_event.committed') transactions += 1;
  };
  const deps = { ...decideDeps(db), reach };
  const handle = handleTriggerEvents(deps, 'attribute_changed');
  const outcomes = await Promise.all(messages.map((one) => handle(one, context)));
  return { deps, outcomes, transactions };
}

const done = (events: number) => ({ outcome: 'done', detail: { events } });

test('messages of many accounts that are here at the same time are decided together, each event by the rules of its own account', async () => {
  await using database = await testDb();
  const { db } = database;
  const accounts = await movedAccounts(db, { accounts: ACCOUNTS, people: PEOPLE });
  const [stranger] = accounts;
  const tickets = await announceAll(db);
  const foreign = message(stranger ?? { organizationId: '0', lineOaId: '0' }, { tickets: tickets.slice(-1) });

  const { deps, outcomes, transactions } = await handleAll(db, [
    ...accounts.map((account) => messageOf(tickets, account)),
    foreign,
  ]);

  expect(transactions).toBeLessThanOrEqual(MOST_TRANSACTIONS);
  expect(outcomes).toEqual([...Array(ACCOUNTS).fill(done(PEOPLE)), done(1)]);
  expect(deps.handedOver).toHaveLength(EVENTS);
  expect(
    await count(
      db,
      'delivery',
      'exists (select from trigger_rule where id = trigger_rule_id and line_oa_id = delivery.line_oa_id)',
    ),
  ).toBe(EVENTS);
  expect(await decisions(db)).toEqual({ 'fired: matched': EVENTS });
  expect(await count(db, 'event_outbox')).toBe(0);
});

test('one event that spoils what was gathered costs itself only, whosever it is, and the others few transactions', async () => {
  await using database = await testDb();
  const { db } = database;
  const accounts = await movedAccounts(db, { accounts: ACCOUNTS, people: PEOPLE });
  const bad = accounts[3]?.lineOaId;
  await spoilMessagesTo(db, { lineOaId: bad, person: 2, code: '22000' });
  const tickets = await announceAll(db);

  const { deps, outcomes, transactions } = await handleAll(
    db,
    accounts.map((account) => messageOf(tickets, account)),
  );

  expect(transactions).toBeLessThan(12);
  expect(outcomes).toEqual(accounts.map(({ lineOaId }) => done(lineOaId === bad ? PEOPLE - 1 : PEOPLE)));
  expect(deps.errors).toHaveLength(1);
  expect(deps.handedOver).toHaveLength(EVENTS - 1);
  expect(await count(db, 'event_outbox', `line_oa_id = ${bad} and user_id = '${userId(2)}' and attempts = 1`)).toBe(1);
  expect(await count(db, 'event_outbox')).toBe(1);
});

test('a message that comes back is decided event by event, however many others are here', async () => {
  await using database = await testDb();
  const { db } = database;
  const accounts = await movedAccounts(db, { accounts: ACCOUNTS, people: PEOPLE });
  const tickets = await announceAll(db);
  const messages = accounts.map((account, at) => ({ ...messageOf(tickets, account), deliveryCount: at === 2 ? 1 : 0 }));

  const { outcomes, transactions } = await handleAll(db, messages);

  expect(transactions).toBeLessThanOrEqual(MOST_TRANSACTIONS + PEOPLE);
  expect(outcomes).toEqual(Array(ACCOUNTS).fill(done(PEOPLE)));
  expect(await count(db, 'delivery')).toBe(EVENTS);
});

test('an event of which several messages in hand tell is decided once, and all are told so', async () => {
  await using database = await testDb();
  const { db } = database;
  const accounts = await movedAccounts(db, { accounts: ACCOUNTS, people: PEOPLE });
  const tickets = await announceAll(db);
  const messages = accounts.map((account) => messageOf(tickets, account));

  const { outcomes } = await handleAll(db, [...messages, ...messages, ...messages]);

  expect(outcomes.filter(({ outcome }) => outcome === 'done').length).toBeGreaterThanOrEqual(ACCOUNTS);
  expect(await decisions(db)).toEqual({ 'fired: matched': EVENTS });
  expect(await count(db, 'delivery')).toBe(EVENTS);
});

test('what happened to one person several times in one batch is decided in the order in which it happened', async () => {
  await using database = await testDb();
  const { db } = database;
  const tenant = await createTenant(db, 2);
  await createCityRule(db, tenant, { actionConfig: later(60), reentry: 'not_while_open' });
  await createCityRule(db, tenant, { frequency: 'once' });
  const cities = ['Edo', 'Kyoto', 'Nara', 'Kobe'];
  for (const city of cities) await setAttributes(db, tenant, { city }, [0, 1]);
  const tickets = await announceAll(db);
  const first = await db.$client.query('select distinct on (user_id) event_id from event_outbox order by user_id, id');
  const one = message(tenant, { tickets: tickets.toReversed() }); // however a message has them

  const { outcomes } = await handleAll(db, [one]);

  expect(outcomes).toEqual([done(2 * cities.length)]);
  const acted = await db.$client.query(
    `select event_id from trigger_log where decision in ('fired', 'scheduled') group by event_id having count(*) = 2`,
  );
  expect(acted.rows.map(({ event_id }) => event_id).sort()).toEqual(first.rows.map(({ event_id }) => event_id).sort());
  expect(await decisions(db)).toEqual({
    'fired: matched': 2,
    'scheduled: matched': 2,
    'suppressed: already_pending': 6,
    'suppressed: frequency': 6,
  });
});

test('of accounts in one batch, waits are met where somebody waits, and nobody is locked where nobody does', async () => {
  await using database = await testDb();
  const { db } = database;
  const accounts = await movedAccounts(db, { accounts: ACCOUNTS, people: PEOPLE });
  const waiting = accounts.slice(0, 2);
  for (const tenant of waiting) {
    await db.$client.query(
      `with action as (
         insert into scheduled_action (organization_id, line_oa_id, user_id, action_type, action_config, dedup_key, execute_at, due_at, anchor_at, expires_at)
         values ($1, $2, $3, 'send_message', '{}', 'wait', app_now() + interval '1 hour', app_now() + interval '1 hour',
                 app_now() - interval '1 hour', app_now() + interval '1 hour') returning id)
       insert into action_wait (scheduled_action_id, n, organization_id, line_oa_id, user_id, source, ref_id, branch)
       select id, 0, $1, $2, $3, 'attribute', 'city', 'yes' from action`,
      [tenant.organizationId, tenant.lineOaId, userId(1)],
    );
  }
  const tickets = await announceAll(db);

  await handleAll(
    db,
    accounts.map((account) => messageOf(tickets, account)),
  );

  expect(await decisions(db)).toEqual({ 'fired: matched': EVENTS, 'unlocked: fact_in_time': 2 });
});
