import type { Tenant } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { columnOf, insertTenant, insertUsers, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { TransientError } from '@dueline/kernel';
import { announceCycles, countCycles, openCycles, PAGE_SIZE, planSchedules } from '@dueline/scheduled-cycles';
import { createRule } from '@dueline/trigger-rules';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runScheduledCycles } from '../src/run-scheduled-cycle.ts';
import { claimAll, context, fire } from './due.ts';
import { decideDeps, message } from './support.ts';

let own: TestDb;
let db: Db;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  db = own.db;
  tenant = await insertTenant(db, { timezone: 'UTC' });
});
afterEach(() => own[Symbol.asyncDispose]());

const TOO_SLOW = '57014';
const PEOPLE = PAGE_SIZE + 103;

/** Everybody of the account is meant by a cycle that is open. */
async function openedCycle(source: object = {}): Promise<readonly string[]> {
  const people = await insertUsers(db, tenant, PEOPLE);
  await createRule(db, tenant, {
    ...{ name: 'daily', sourceType: 'scheduled_time', frequency: 'every_time' },
    ...{ sourceConfig: { cron: '0 9 * * *', catchUpSeconds: 86_400, ...source } },
    ...{ actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'おはよう' }] } },
  } as Parameters<typeof createRule>[2]);
  await planSchedules(db, { onProblem: async () => {} });
  await moveProductTime(db, 86_400);
  await openCycles(db, { limit: 10 });
  return people;
}

/** No action can be written of those for whom this is true. */
const spoil = (when: string, code: string) =>
  db.$client.query(`
    create function spoil() returns trigger language plpgsql as $$ begin raise exception 'spoilt' using errcode = '${code}'; end $$;
    create trigger spoil before insert on scheduled_action for each row when (${when}) execute function spoil()`);

/** One reader takes the cycle, when whoever had it before has been silent for long enough. */
async function take(): Promise<void> {
  await db.$client.query(
    `update scheduled_trigger_execution set lease_until = clock_timestamp() - interval '1 second' where lease_until is not null`,
  );
  const tickets = await announceCycles(db, { limit: 10, againAfterSeconds: 0 });
  await runScheduledCycles(decideDeps(db))(message(tenant, { tickets }), context);
}
async function takeOften(times: number): Promise<void> {
  for (let taken = 0; taken < times; taken += 1) await take();
}

const cycle = () =>
  columnOf(
    db,
    `select concat_ws(' ', status, reason_code, case when read_all then 'read' end, total_users, failed_users, page_failures) from scheduled_trigger_execution`,
  );
const failed = () => columnOf(db, `select user_id from scheduled_action where status = 'failed' order by user_id`);
const attention = () =>
  columnOf(
    db,
    `select concat_ws(' ', kind, reason_code, count(*)) from attention_item group by kind, reason_code order by kind`,
  );

test.for([
  ['takes too long', TOO_SLOW, {}],
  ['cannot be written', '22000', {}],
  ['takes too long, of a reminder', TOO_SLOW, { onDate: { attribute: 'born' } }],
] as const)(
  'a person for whom a page %s costs itself only: it is halved, tried five times a minute apart, and they are given up',
  async ([, code, source]) => {
    const people = await openedCycle(source);
    await db.$client.query(
      `update line_user set attributes = jsonb_build_object('born', to_char(scheduled_at at time zone 'UTC', 'YYYY-MM-DD')) from scheduled_trigger_execution`,
    );
    const bad = people[311] ?? '';
    await spoil(`new.status = 'pending' and new.user_id = '${bad}'`, code);
    await take();
    expect(await columnOf(db, 'select user_id from scheduled_action order by user_id')).toEqual(people.slice(0, 311));
    expect(await announceCycles(db, { limit: 10, againAfterSeconds: 0 })).toEqual([]); // not yet again
    await takeOften(3);
    expect([await cycle(), await failed()]).toEqual([['processing 311 0 4'], []]);
    await take();
    expect([await cycle(), await failed()]).toEqual([[`processing read ${PEOPLE} 0 0`], [bad]]);
    expect(await columnOf(db, 'select distinct user_id from scheduled_action order by user_id')).toEqual(people);
    expect(await attention()).toEqual(['action_failed decision_failed 1']);
    expect(await columnOf(db, `select user_id from trigger_log where decision = 'failed'`)).toEqual([bad]);
    for (let due = await claimAll(db); due.length > 0; due = await claimAll(db)) await fire(decideDeps(db), due);
    await countCycles(db);
    expect(await cycle()).toEqual([`completed read ${PEOPLE} 1 0`]);
  },
);

test('a cycle of which nobody can be given anything is given up after five people, and a person is told', async () => {
  const people = await openedCycle();
  await spoil(`new.status = 'pending' and new.user_id > '${people[99]}'`, TOO_SLOW);
  await takeOften(5);
  expect(await cycle()).toEqual(['failed decision_failed 105 0 10']);
  expect(await failed()).toEqual(people.slice(100, 105));
  expect(await attention()).toEqual(['action_failed decision_failed 5', 'rule_failed decision_failed 1']);
  expect(await announceCycles(db, { limit: 10, againAfterSeconds: 0 })).toEqual([]);
});

test('a cycle whose people cannot even be given up is', async () => {
  await openedCycle();
  await spoil('true', TOO_SLOW);
  await takeOften(5);
  expect(await cycle()).toEqual(['failed decision_failed 0 0 5']);
  expect(await attention()).toEqual(['rule_failed decision_failed 1']);
});

test('an outage costs no try', async () => {
  await openedCycle();
  await spoil('true', '57P01');
  for (let taken = 0; taken < 7; taken += 1) await expect(take()).rejects.toThrow(TransientError);
  expect(await cycle()).toEqual(['processing 0 0 0']);
  await db.$client.query('drop trigger spoil on scheduled_action');
  await take();
  expect(await cycle()).toEqual([`processing read ${PEOPLE} 0 0`]);
});
