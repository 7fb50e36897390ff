import type { Tenant, Ticket, Tickets } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import {
  columnOf,
  insertTenant,
  insertUsers,
  lineUserId,
  moveProductTime,
  type TestDb,
  testDb,
} from '@dueline/db/testing';
import { cancelDeliveries } from '@dueline/deliveries';
import { operate } from '@dueline/scheduled-actions';
import { announceCycles, cancelCycle, countCycles, openCycles, planSchedules } from '@dueline/scheduled-cycles';
import { createRule, deleteRule, setFrequencyCap } from '@dueline/trigger-rules';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { processDueActions } from '../src/process-due-actions.ts';
import { runScheduledCycles } from '../src/run-scheduled-cycle.ts';
import { claimAll, claimOf, context, fire } from './due.ts';
import { decideDeps, message } from './support.ts';

let own: TestDb;
let db: Db;
let tenant: Tenant;
const disposals: TestDb[] = [];
beforeEach(async () => {
  own = await testDb();
  disposals.push(own);
  db = own.db;
  tenant = await insertTenant(db);
});
afterAll(async () => {
  for (const database of disposals) await database[Symbol.asyncDispose]();
});

type Draft = Parameters<typeof createRule>[2];

/** A rule whose cycle has just been opened; and its ticket. */
async function openedRule(draft: object = {}, source: object = {}): Promise<{ ruleId: string; tickets: Tickets }> {
  const ruleId = await createRule(db, tenant, {
    ...{ name: 'daily', sourceType: 'scheduled_time', frequency: 'every_time' },
    ...{ actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'おはよう' }] } },
    ...{ sourceConfig: { cron: '0 9 * * *', catchUpSeconds: 86_400, ...source } },
    ...draft,
  } as Draft);
  await planSchedules(db, { onProblem: async (_tx, { problem }) => expect(problem).toBeUndefined() });
  await moveProductTime(db, 86_400);
  await openCycles(db, { limit: 10 });
  return { ruleId, tickets: { tickets: await announceCycles(db, { limit: 10, againAfterSeconds: 60 }) } };
}

const run = (tickets: Tickets) => runScheduledCycles(decideDeps(db))(message(tenant, tickets), context);
/** Decides all that is due, as the queue does. */
async function decideDue(): Promise<void> {
  for (;;) {
    const due = await claimAll(db);
    if (due.length === 0) return;
    await fire(decideDeps(db), due);
  }
}
const log = () =>
  columnOf(
    db,
    `select concat_ws(' ', decision, reason_code, count(*)) from trigger_log group by decision, reason_code order by decision, reason_code`,
  );
const cycles = () =>
  columnOf(
    db,
    `select concat_ws(' ', status, reason_code, total_users, processed_users, failed_users) from scheduled_trigger_execution`,
  );

test('each friend gets one message from a cycle, and a ticket that comes twice is nothing [T26] [T37]', async () => {
  await insertUsers(db, tenant, 1_203);
  const { tickets } = await openedRule();
  expect(await run(tickets)).toMatchObject({ outcome: 'done', detail: { cycles: 1, people: 1_203 } });
  expect(await run(tickets)).toMatchObject({ outcome: 'discarded' });
  await decideDue();
  expect(await columnOf(db, 'select count(distinct user_id), count(*) from delivery')).toEqual(['1203']);
  expect(await columnOf(db, 'select count(distinct retry_key) from delivery')).toEqual(['1203']);
  expect(await log()).toEqual(['fired due 1203', 'scheduled matched 1203']);
  await countCycles(db);
  expect(await cycles()).toEqual(['completed 1203 1203 0']);
});

test.for([
  [undefined, '0 seconds'],
  [{ seconds: 1_800 }, '1800 seconds'],
  [{ days: 1 }, '1 day'],
] as const)(
  'an action of a cycle with the delay %o is meant for that long after the instant that the calendar names',
  async ([delay, later]) => {
    await insertUsers(db, tenant, 1);
    const messages = [{ type: 'text', text: 'hello' }];
    await run((await openedRule({ actionConfig: { messages, ...(delay && { delay }) } })).tickets);
    const meant = `select extract(epoch from due_at - scheduled_at - interval '${later}') from scheduled_action, scheduled_trigger_execution`;
    expect((await columnOf(db, meant)).map(Number)).toEqual([0]);
    expect(await log()).toEqual(['scheduled matched 1']);
  },
);

test('conditions are asked of each person when the action is decided', async () => {
  await insertUsers(db, tenant, 4);
  await db.$client.query(`update line_user set attributes = '{"tier": "gold"}' where user_id <= $1`, [lineUserId(1)]);
  await run((await openedRule({}, { conditions: { attribute: 'tier', op: 'eq', value: 'gold' } })).tickets);
  await decideDue();
  const gold = Number((await columnOf(db, `select count(*) from line_user where attributes ? 'tier'`))[0]);
  expect(await log()).toEqual([
    `cancelled conditions_no_longer_hold ${4 - gold}`,
    `fired due ${gold}`,
    'scheduled matched 4',
  ]);
  await countCycles(db);
  expect(await cycles()).toEqual(['completed 4 4 0']);
});

test('whom the limits of the rule leave out counts as served, and the history says why', async () => {
  await insertUsers(db, tenant, 3);
  const { ruleId, tickets } = await openedRule({ frequency: 'once' });
  await db.$client.query(
    `insert into rule_gate (organization_id, line_oa_id, trigger_rule_id, user_id, mode, last_fired_at) select organization_id, line_oa_id, $1, user_id, 'live', app_now() from line_user limit 1`,
    [ruleId],
  );
  await run(tickets);
  await decideDue();
  expect(await log()).toEqual(['fired due 2', 'scheduled matched 2', 'suppressed frequency 1']);
  await countCycles(db);
  expect(await cycles()).toEqual(['completed 3 3 0']);
});

test('a rule that observes is written down for everybody, and does nothing', async () => {
  await insertUsers(db, tenant, 3);
  await run((await openedRule({ mode: 'observe' })).tickets);
  expect(await log()).toEqual(['observed matched 3']);
  await countCycles(db);
  expect(await cycles()).toEqual(['completed 3 3 0']);
});

test('a rule that was deleted after its cycle was opened ends the cycle; nobody gets anything', async () => {
  await insertUsers(db, tenant, 3);
  const { ruleId, tickets } = await openedRule();
  await deleteRule(db, tenant, ruleId);
  await run(tickets);
  expect(await cycles()).toEqual(['cancelled rule_deleted 0 0 0']);
  expect(await columnOf(db, 'select count(*) from scheduled_action')).toEqual(['0']);
});

test('a process that is told to stop gives the cycle back, and another goes on with it', async () => {
  const people = await insertUsers(db, tenant, 1_203);
  const { tickets } = await openedRule();
  const stopping = { ...context, signal: AbortSignal.abort() };
  await runScheduledCycles(decideDeps(db))(message(tenant, tickets), stopping);
  expect(await columnOf(db, 'select count(*) from scheduled_action')).toEqual(['500']);
  await run({ tickets: await announceCycles(db, { limit: 10, againAfterSeconds: 60 }) });
  expect(await columnOf(db, 'select user_id from scheduled_action order by user_id')).toEqual(people);
});

/** Opens, reads and decides what is due by the calendar. */
const goThrough = async () => {
  await openCycles(db, { limit: 10 });
  await run({ tickets: await announceCycles(db, { limit: 10, againAfterSeconds: 60 }) });
  await decideDue();
  await countCycles(db);
};
/** A rule of each hour; moves product time to the next hour, and some seconds into it. */
async function hourlyRule(draft: object): Promise<(secondsIntoHour: number) => Promise<void>> {
  await createRule(db, tenant, {
    ...{ name: 'hourly', sourceType: 'scheduled_time', sourceConfig: { cron: '0 * * * *' } },
    ...{ actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'もうすぐ' }] } },
    ...draft,
  } as Draft);
  await planSchedules(db, { onProblem: async (_tx, { problem }) => expect(problem).toBeUndefined() });
  return async (secondsIntoHour) => {
    const [intoHour] = await columnOf(db, 'select extract(epoch from app_now()) % 3600');
    await moveProductTime(db, 3_600 - Number(intoHour) + secondsIntoHour);
    await goThrough();
  };
}

test('a rule of each hour that fires once an hour fires in each, though people are read sooner after the hour than before', async () => {
  await insertUsers(db, tenant, 1);
  const nextHour = await hourlyRule({ frequency: 'once_per_hour' });
  await nextHour(1_800);
  await nextHour(60);
  expect(await log()).toEqual(['fired due 2', 'scheduled matched 2']);
});

test.for([
  ['that is at once', undefined],
  ['whose date has passed', { mode: 'relativeToDate', to: { attribute: 'born' }, offsetDays: 0, whenPast: 'fire' }],
])(
  'what a cycle sends %s counts for the cap at the instant that the calendar names, whenever its people were read',
  async ([, delay]) => {
    await insertUsers(db, tenant, 1);
    await db.$client.query(`update line_user set attributes = '{"born": "2001-02-03"}'`);
    await setFrequencyCap(db, tenant, { maxMessages: 1, windowSeconds: 3_600 });
    const messages = [{ type: 'text', text: 'もうすぐ' }];
    const nextHour = await hourlyRule({ frequency: 'every_time', actionConfig: { messages, ...(delay && { delay }) } });
    await nextHour(25); // a cap of an hour forgives 36 seconds
    await nextHour(2);
    await nextHour(20);
    const decided = await columnOf(
      db,
      `select concat_ws(' ', decision, reason_code) from trigger_log where reason_code in ('due', 'frequency_cap')`,
    );
    expect(decided).toEqual(['fired due', 'fired due', 'fired due']);
  },
);

const cancelIt = async () => {
  const [executionId = ''] = (await columnOf(db, 'select id from scheduled_trigger_execution')).map(String);
  expect(await inTransaction(db, (tx) => cancelCycle(tx, tenant, { executionId }))).toBe(true);
};

test.each(['queue', 'inline'] as const)(
  'what is due of a cycle never runs once its cancel was answered, though nobody has swept yet (%s)',
  async (via) => {
    await insertUsers(db, tenant, 5);
    const { tickets } = await openedRule();
    await run(tickets);
    await cancelIt();
    if (via === 'queue') await decideDue();
    else await processDueActions(decideDeps(db), claimOf('inline'))();
    expect(await columnOf(db, 'select count(*) from delivery')).toEqual(['0']);
    expect(await log()).toEqual(['cancelled cycle_cancelled 5', 'scheduled matched 5']);
    expect(
      await columnOf(
        db,
        `select concat_ws(' ', status, cancel_reason, count(*)) from scheduled_action group by status, cancel_reason`,
      ),
    ).toEqual(['cancelled cycle_cancelled 5']);
  },
);

test('what a person brings back of a cancelled cycle runs', async () => {
  await insertUsers(db, tenant, 2);
  const { tickets } = await openedRule();
  await run(tickets);
  await cancelIt();
  await decideDue();
  const [ticket] = (await db.$client.query<Ticket>('select id, fence from scheduled_action order by user_id')).rows;
  if (ticket === undefined) throw new Error('a cycle has actions');
  await operate(db, tenant, { ticket, operation: { kind: 'uncancel' }, by: 'mika', cancelDeliveries });
  await decideDue();
  expect(await columnOf(db, 'select user_id from delivery')).toEqual([lineUserId(1)]);
});
