import type { Tenant, TenantTicket } from '@dueline/contracts';
import type { Db } from '@dueline/db';
import { columnOf, insertTenant, insertUsers, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import type { CrashPoint } from '@dueline/runtime';
import {
  announceCycles,
  type CycleProgress,
  countCycles,
  cycleProgress,
  openCycles,
  planSchedules,
} from '@dueline/scheduled-cycles';
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
  tenant = await insertTenant(db);
});
afterEach(() => own[Symbol.asyncDispose]());

const PATIENCE = { timeout: 120_000 };
const PEOPLE = 1_203;
/** Fails for whoever has no voucher. */
const VOUCHER = { messages: [{ type: 'text' as const, text: '{{ attribute.voucher | "" }}' }] };

/** A rule that greets everybody who has a voucher, and its open cycle. */
async function openedCycle(): Promise<string> {
  await createRule(db, tenant, {
    ...{ name: 'daily', sourceType: 'scheduled_time', frequency: 'every_time' },
    ...{ sourceConfig: { cron: '0 9 * * *', catchUpSeconds: 86_400 } },
    ...{ actionType: 'send_message', actionConfig: VOUCHER },
  } as Parameters<typeof createRule>[2]);
  await planSchedules(db, { onProblem: async () => {} });
  await moveProductTime(db, 86_400);
  await openCycles(db, { limit: 10 });
  return (await columnOf(db, 'select max(id) from scheduled_trigger_execution'))[0] ?? '';
}

const announced = () => announceCycles(db, { limit: 10, againAfterSeconds: 60 });
const run = (tickets: readonly TenantTicket[], reach?: (point: CrashPoint) => void, { signal } = context) =>
  runScheduledCycles({ ...decideDeps(db), reach })(message(tenant, { tickets: [...tickets] }), { signal });

/** What a lease and the wait for a lost ticket take. */
const afterTheDeath = () =>
  db.$client.query(`
    update scheduled_trigger_execution
       set published_at = clock_timestamp() - interval '1 hour',
           lease_until = least(lease_until, clock_timestamp() - interval '1 second')`);

async function decideDue(): Promise<number> {
  const due = await claimAll(db);
  if (due.length > 0) await fire(decideDeps(db), due);
  return due.length;
}

test(
  'a cycle says at any moment how many it has reached, and how many of those wait, are served and failed',
  PATIENCE,
  async () => {
    const people = await insertUsers(db, tenant, PEOPLE);
    await db.$client.query(`update line_user set attributes = '{"voucher": "A-1"}' where user_id > $1`, [people[9]]);
    const executionId = await openedCycle();
    const looks: CycleProgress[] = [];
    let isOver = false;
    const look = async () => {
      while (!isOver) {
        const progress = await cycleProgress(db, tenant, { executionId });
        if (progress !== undefined) looks.push(progress);
      }
    };
    const work = async () => {
      const reading = run(await announced());
      for (let waits = 0; waits < 2; )
        waits = (await decideDue()) === 0 && (await reading) !== undefined ? waits + 1 : 0;
      isOver = true;
    };
    await Promise.all([look(), look(), work()]);
    expect(new Set(looks.map(({ open, processed, failed, total }) => total - open - processed - failed))).toEqual(
      new Set([0]),
    );
    expect(Math.min(...looks.flatMap(({ open, processed, failed }) => [open, processed, failed]))).toBe(0);
    expect(looks.map(({ total }) => total).every((total) => [0, 500, 1_000, PEOPLE].includes(total))).toBe(true);
    expect(await cycleProgress(db, tenant, { executionId })).toEqual({
      ...{ total: PEOPLE, open: 0, processed: PEOPLE - 10, failed: 10, suppressed: 0, isReading: false },
    });
  },
);

test(
  'people whose action fails stop nobody else, and the cycle is completed and says how many they are',
  PATIENCE,
  async () => {
    const people = await insertUsers(db, tenant, 30);
    const served = people.filter((_, n) => n % 3 !== 0);
    await db.$client.query(`update line_user set attributes = '{"voucher": "A-1"}' where user_id = any($1)`, [served]);
    await openedCycle();
    await run(await announced());
    while ((await decideDue()) > 0);
    await countCycles(db);
    expect(await columnOf(db, 'select user_id from delivery order by user_id')).toEqual(served);
    const counts = `select concat_ws(' ', status, total_users, processed_users, failed_users) from scheduled_trigger_execution`;
    expect(await columnOf(db, counts)).toEqual(['completed 30 20 10']);
  },
);

test.for<[CrashPoint, number]>([
  ['read_cycle.taken', 0],
  ['read_cycle.reading', 0],
  ['read_cycle.committed', 500],
  ['read_cycle.handled', PEOPLE],
])(
  'whoever reads a cycle and dies at %s has given %i people their action; the next one gives it to the others',
  PATIENCE,
  async ([at, reached]) => {
    const people = await insertUsers(db, tenant, PEOPLE);
    const executionId = await openedCycle();
    const death = new AbortController();
    const dies = (point: CrashPoint) => {
      if (point !== at) return;
      death.abort(); // a process that is gone does not read its page again in halves
      throw new Error('killed');
    };
    await expect(run(await announced(), dies, death)).rejects.toThrow('killed');
    expect(await columnOf(db, 'select count(*) from scheduled_action')).toEqual([String(reached)]);
    expect(await cycleProgress(db, tenant, { executionId })).toMatchObject({
      ...{ total: reached, open: reached, isReading: reached < PEOPLE },
    });
    await afterTheDeath();
    await run(await announced());
    expect(await columnOf(db, 'select user_id from scheduled_action order by user_id')).toEqual(people);
    expect(await columnOf(db, 'select total_users from scheduled_trigger_execution')).toEqual([String(PEOPLE)]);
  },
);

test('two cycles of a rule are two messages for each of three people, each with a key of its own [T26] [T37]', async () => {
  const people = await insertUsers(db, tenant, 3);
  await db.$client.query(`update line_user set attributes = '{"voucher": "A-1"}'`);
  await openedCycle();
  const serve = async () => {
    await run(await announced());
    while ((await decideDue()) > 0);
    await countCycles(db);
  };
  await serve();
  expect(await columnOf(db, 'select count(distinct retry_key) from delivery')).toEqual(['3']);
  await moveProductTime(db, 86_400);
  await openCycles(db, { limit: 10 });
  await serve();
  const perPerson = `select user_id || ' ' || count(distinct retry_key) || ' ' || count(*) from delivery group by user_id order by user_id`;
  expect(await columnOf(db, perPerson)).toEqual(people.map((userId) => `${userId} 2 2`));
});
