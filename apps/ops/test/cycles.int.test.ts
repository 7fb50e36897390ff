import { inTransaction } from '@dueline/db';
import { columnOf, insertRow, insertTenant, insertUsers, moveProductTime, testDb } from '@dueline/db/testing';
import {
  announceCycles,
  cycleDedupKey,
  openCycles,
  planSchedules,
  readPage,
  takeCycle,
} from '@dueline/scheduled-cycles';
import { expect, test } from 'vitest';
import { runCycles } from '../src/cycles.ts';
import { runRules } from '../src/rules/index.ts';

async function withRule() {
  const own = await testDb();
  const tenant = await insertTenant(own.db, { timezone: 'Asia/Tokyo' });
  await insertUsers(own.db, tenant, 3);
  const rule = await insertRow(own.db, 'trigger_rule', {
    ...{
      organization_id: tenant.organizationId,
      line_oa_id: tenant.lineOaId,
      name: '毎朝',
      source_type: 'scheduled_time',
    },
    ...{ source_config: { cron: '0 9 * * *' }, action_type: 'send_message', action_config: {} },
  });
  await planSchedules(own.db, { onProblem: async () => {} });
  const said: string[] = [];
  const print = (line: string) => said.push(line);
  const cycles = async (...args: string[]) => {
    said.length = 0;
    const deps = { env: { DATABASE_URL: own.urlOf('ops') }, print, printError: print, login: 'mika' };
    return { code: await runCycles(deps, args), out: said.join('\n') };
  };
  return { ...own, tenant, ruleId: String(rule.id), cycles, [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}

test('a person runs a cycle, sees how far it is, pauses, resumes and cancels it; who did it is written down', async () => {
  await using own = await withRule();
  const { cycles, db, tenant, ruleId } = own;
  expect((await cycles('schedules')).out).toMatch(
    /^rule +cron +next +name\n\d+ +0 9 \* \* \* +\d{4}-\d\d-\d\d 09:00:00 .* 毎朝$/,
  );
  expect(await cycles('run', ruleId)).toEqual({ code: 0, out: expect.stringMatching(/^\d+: cycle \d+ begins$/) });
  const id = String(await columnOf(db, 'select id from scheduled_trigger_execution'));
  const [ticket] = await announceCycles(db, { limit: 1, againAfterSeconds: 60 });
  if (ticket === undefined) throw new Error('not announced');
  const cycle = await takeCycle(db, tenant, { ticket, claimedBy: 'w:1', leaseSeconds: 30 });
  if (cycle === undefined) throw new Error('not taken');
  await inTransaction(db, (tx) =>
    readPage(tx, {
      cycle,
      config: {},
      leaseSeconds: 30,
      enqueue: async (_tx, people) => ({ suppressed: people.length }),
    }),
  );
  expect((await cycles('show', id)).out).toContain('left out       3, by the limits of the rule');
  await db.$client.query('update scheduled_trigger_execution set read_all = false');
  for (const [deed, says] of [
    ['pause', 'paused'],
    ['resume', 'goes on'],
    ['cancel', 'cancelled'],
  ] as const) {
    expect(await cycles(deed, id, '--why', 'a typo')).toEqual({ code: 0, out: `${id}: ${says}` });
    expect(await cycles(deed, id)).toMatchObject({ code: 1 });
  }
  expect((await cycles('list')).out).toMatch(/cancelled: by_person +3 +0 +0 +毎朝$/);
  expect(await columnOf(db, `select concat_ws(' ', operation, done_by, reason) from audit_log order by id`)).toEqual([
    'cycle_run mika',
    ...['pause', 'resume', 'cancel'].map((deed) => `cycle_${deed} mika a typo`),
  ]);
  expect(cycleDedupKey(id, 'U')).toBe(`ste:${id}:U`);
});

test('who runs a cycle that must wait is told for what: an earlier one, a pause of it, or the stop of the account', async () => {
  await using own = await withRule();
  const { cycles, db, ruleId } = own;
  const runNow = async () => {
    await moveProductTime(db, 1); // two within one millisecond are the same cycle
    return (await cycles('run', ruleId)).out;
  };
  const [, first = ''] = /cycle (\d+) begins$/.exec(await runNow()) ?? [];
  expect(await runNow()).toMatch(new RegExp(`cycle \\d+ waits until cycle ${first} is over$`));
  expect(await runNow()).toMatch(new RegExp(`cycle \\d+ waits until cycle ${first} \\(and 1 more\\) is over$`));
  await cycles('pause', first);
  expect(await runNow()).toMatch(new RegExp(`is over; ${first} is paused: cycles resume or cancel ${first}$`));
  expect(await announceCycles(db, { limit: 9, againAfterSeconds: 60 })).toEqual([]); // so it is
  await db.$client.query(`update trigger_rule set source_config = source_config || '{"overlap": "allow"}'`);
  expect(await runNow()).toMatch(/cycle \d+ begins$/);
  await db.$client.query('update line_oa set stopped_at = app_now()');
  expect(await runNow()).toMatch(/cycle \d+ waits: the account is stopped$/);
});

test('who switches a rule off whose cycle is due, and not begun yet, finds that cycle in the list, with why', async () => {
  await using own = await withRule();
  const { cycles, db, ruleId } = own;
  await moveProductTime(db, 86_400);
  const deps = { env: { DATABASE_URL: own.urlOf('ops') }, print: () => undefined, printError: expect.unreachable };
  expect(await runRules({ ...deps, login: 'mika' }, ['disable', ruleId])).toBe(0);
  expect((await cycles('list')).out).toMatch(/ 09:00:00 .* skipped: rule_disabled, and all others before .* 毎朝$/);
});

test('the next cycle is left out, once for each time it is said', async () => {
  await using own = await withRule();
  const { cycles, db, ruleId } = own;
  expect((await cycles('skip', ruleId)).out).toMatch(/left out: \d{4}-\d\d-\d\d 09:00:00/);
  expect((await cycles('skip', ruleId)).code).toBe(0);
  expect(await openCycles(db, { limit: 1 })).toMatchObject({ opened: 0 });
  expect(await columnOf(db, 'select status from scheduled_trigger_execution')).toEqual(['skipped', 'skipped']);
});

test.for([
  [['list', '--limit', '0'], 2, '--limit 0: a number from 1 to 500'],
  [['list', '--rule', 'x'], 2, '--rule x: the id of a rule'],
  [['run'], 2, 'run needs the id of a rule'],
  [['pause', 'x'], 2, 'pause needs the id of a cycle'],
  [['shake', '1'], 2, 'there is no command shake'],
  [['pause', '1', '2'], 2, 'pause takes one thing at a time'],
  [['show', '999'], 1, '999: the account has no such cycle'],
  [['run', '999'], 1, '999: not so; list and schedules say how it stands'],
] as const)('%j is answered with %i: %s', async ([args, code, says]) => {
  await using own = await withRule();
  const answer = await own.cycles(...args);
  expect(answer).toEqual({ code, out: expect.stringContaining(says) });
});
