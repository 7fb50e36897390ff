import { readFileSync } from 'node:fs';
import type { Tenant } from '@dueline/contracts';
import { inTransaction, type Tx } from '@dueline/db';
import { columnOf, guardedMoves, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { cyclesWithin, openCycles, planSchedules, runCycleNow, skipNextCycle, TRANSITIONS } from '../src/index.ts';
import { type Config, cycles, insertTimeRule, nextRuns, plan, plannedRule, travelTo } from './support.ts';

let own: TestDb;
let tenant: Tenant;
const disposals: TestDb[] = [];
beforeEach(async () => {
  own = await testDb();
  disposals.push(own);
  tenant = await insertTenant(own.db, { timezone: 'Asia/Tokyo' });
  await travelTo(own.db, '2100-01-01T00:00:30Z'); // 09:00:30 in Tokyo
});
/** What a person does, in a transaction of its own. */
const by = <What, Result>(
  act: (tx: Tx, of: Tenant, what: What) => Promise<Result>,
  of: Tenant,
  what: What,
): Promise<Result> => inTransaction(own.db, (tx) => act(tx, of, what));

afterAll(async () => {
  for (const database of disposals) await database[Symbol.asyncDispose]();
});

const open = () => openCycles(own.db, { limit: 50 });
const hourly = { cron: '0 * * * *' };

test('of ten schedulers that find the same cycle due one opens it, and the next one is planned', async () => {
  await plannedRule(own.db, tenant, hourly);
  await travelTo(own.db, '2100-01-01T01:00:00.250Z');
  const opened = await Promise.all(Array.from({ length: 10 }, open));
  expect(opened.reduce((sum, { opened: count }) => sum + count, 0)).toBe(1);
  expect(await cycles(own.db)).toEqual(['2100-01-01T01:00 processing']);
  expect(await nextRuns(own.db)).toEqual(['2100-01-01T02:00']);
});

test('a schedule is planned from now on, on the clocks of its zone, and anew when its rule or its account changes [SEM-027, SEM-029]', async () => {
  const id = await plannedRule(own.db, tenant, { cron: '0 9 * * *' });
  const update = async (set: string) => {
    await own.db.$client.query(`update trigger_rule set ${set} where id = $1`, [id]);
    await plan(own.db);
    return nextRuns(own.db);
  };
  expect(await nextRuns(own.db)).toEqual(['2100-01-02T00:00']); // 09:00 of today is over in Tokyo
  await own.db.$client.query(`update line_oa set timezone = 'Europe/Berlin'`);
  await plan(own.db);
  expect(await nextRuns(own.db)).toEqual(['2100-01-01T08:00']);
  expect(await update(`source_config = '{"cron": "0 9 * * *", "timezone": "UTC"}'`)).toEqual(['2100-01-01T09:00']);
  expect(await update('enabled = false')).toEqual([null]);
  await travelTo(own.db, '2100-01-01T10:00:00Z');
  expect(await update('enabled = true')).toEqual(['2100-01-02T09:00']); // what was due meanwhile was not missed
  expect(await update(`name = 'another'`)).toEqual(['2100-01-02T09:00']);
  expect(await update('deleted_date = app_now()')).toEqual([null]);
  expect(await cycles(own.db)).toEqual([]);
});

/** Changes the rule after its cycle of 10:00 in Tokyo came due and before anybody opened it. */
async function changedWhileDue(change: (id: string) => Promise<unknown>) {
  const id = await plannedRule(own.db, tenant, hourly);
  await travelTo(own.db, '2100-01-01T01:00:10Z');
  await change(id);
  await plan(own.db);
  await open();
  return cycles(own.db);
}
const set = (changes: string) => (id: string) =>
  own.db.$client.query(`update trigger_rule set ${changes} where id = $1`, [id]);

test.for([
  ['of whom it is for', `source_config = '{"cron": "0 * * * *", "conditions": {"attribute": "tier", "op": "exists"}}'`],
  ['of what it does', `action_config = '{"messages": []}'`],
  ['of what becomes of late cycles', `source_config = '{"cron": "0 * * * *", "catchUpSeconds": 60}'`],
] as const)(
  'a cycle that is due when its rule is changed begins by the rule as it is then: a change %s',
  async ([, changes]) => {
    expect(await changedWhileDue(set(changes))).toEqual(['2100-01-01T01:00 processing']);
    expect(await columnOf(own.db, 'select rule_version from scheduled_trigger_execution')).toEqual(['2']);
    expect(await nextRuns(own.db)).toEqual(['2100-01-01T02:00']);
  },
);

test.for([
  ['another calendar', set(`source_config = '{"cron": "30 * * * *"}'`), 'rule_changed', '2100-01-01T01:30'],
  ['a rule that begins to observe', set(`mode = 'observe'`), 'rule_changed', '2100-01-01T02:00'],
  ['a rule that is switched off', set('enabled = false'), 'rule_disabled', null],
  ['a rule that is deleted', set('deleted_date = app_now()'), 'rule_deleted', null],
  [
    'another zone',
    () => own.db.$client.query(`update line_oa set timezone = 'Asia/Kathmandu'`),
    'zone_changed',
    '2100-01-01T01:15',
  ],
] as const)(
  'a cycle that is due when its calendar is taken away is seen to be left out: %s',
  async ([, change, reason, next]) => {
    expect(await changedWhileDue(change)).toEqual([`2100-01-01T01:00 skipped ${reason}`]);
    expect(await nextRuns(own.db)).toEqual([next]);
    expect(await columnOf(own.db, 'select error_message from scheduled_trigger_execution')).toEqual([
      expect.stringMatching(/^and all others before 2100-01-01T01:00:1\d\.\d{3}Z$/),
    ]);
  },
);

test('a cycle whose time comes between a change of its rule and the planning begins', async () => {
  await insertTimeRule(own.db, tenant, hourly);
  await travelTo(own.db, '2100-01-01T01:00:10Z');
  await plan(own.db);
  await open();
  expect(await cycles(own.db)).toEqual(['2100-01-01T01:00 processing']);
  expect(await nextRuns(own.db)).toEqual(['2100-01-01T02:00']);
});

test('a rule whose schedule cannot be read is told once, and has no cycles until it is changed', async () => {
  const told: string[] = [];
  const planOnce = () => planSchedules(own.db, { onProblem: async (_tx, { problem }) => void told.push(problem) });
  const id = await insertTimeRule(own.db, tenant, { cron: '0 9 * *' });
  await insertTimeRule(own.db, tenant, { cron: '0 9 * * *', timezone: 'Asia/Tokio' });
  await insertTimeRule(own.db, tenant, { ...hourly, misfire: 'all' });
  await planOnce();
  expect(await planOnce()).toBe(0);
  expect(told).toEqual([
    expect.stringContaining('cron "0 9 * *" is invalid'),
    'timezone "Asia/Tokio" is not one of the IANA database',
    '/sourceConfig/overlap: cycles that are all made up for meet each other: allow or queue',
  ]);
  await own.db.$client.query(`update trigger_rule set source_config = '{"cron": "0 9 * * *"}' where id = $1`, [id]);
  await plan(own.db);
  expect(await nextRuns(own.db)).toEqual(['2100-01-02T00:00', null, null]);
});

test.for<[string, Config, string[]]>([
  [
    'the last one runs',
    hourly,
    ['01:00 skipped misfire', '02:00 skipped misfire', '03:00 skipped misfire', '04:00 processing'],
  ],
  [
    'or all within the window do, one after the other',
    { ...hourly, misfire: 'all', overlap: 'queue', catchUpSeconds: 7_200 },
    ['01:00 skipped misfire', '02:00 skipped misfire', '03:00 processing', '04:00 processing'],
  ],
  ['or none', { ...hourly, misfire: 'skip' }, [1, 2, 3, 4].map((hour) => `0${hour}:00 skipped misfire`)],
])('after some hours without a scheduler %s, and the others are seen to be left out', async ([, config, expected]) => {
  await plannedRule(own.db, tenant, config);
  await travelTo(own.db, '2100-01-01T04:30:00Z');
  await open();
  expect(await cycles(own.db)).toEqual(expected.map((line) => `2100-01-01T${line}`));
  expect(await nextRuns(own.db)).toEqual(['2100-01-01T05:00']);
});

test('after a year of minutes a hundred are told one by one, and the others together', async () => {
  await plannedRule(own.db, tenant, { cron: '* * * * *' });
  await travelTo(own.db, '2101-01-01T00:00:30Z');
  await open();
  const [first, ...rest] = await cycles(own.db, 'reason_code, error_message');
  expect(first).toBe('2100-01-01T00:01 skipped misfire and all others before 2100-12-31T22:21:00.000Z');
  expect(rest).toHaveLength(100);
  expect(rest.at(-1)).toBe('2101-01-01T00:00 processing');
});

test.for<[string, Config, string[]]>([
  ['is skipped', hourly, ['processing', 'skipped overlap', 'skipped overlap']],
  ['runs beside it', { ...hourly, overlap: 'allow' }, ['processing', 'processing', 'processing']],
  ['waits, unless another one does', { ...hourly, overlap: 'queue' }, ['processing', 'processing', 'skipped overlap']],
])('a cycle that meets one which is not over %s', async ([, config, expected]) => {
  await plannedRule(own.db, tenant, config);
  for (const hour of [1, 2, 3]) {
    await travelTo(own.db, `2100-01-01T0${hour}:00:01Z`);
    await open();
  }
  expect(await cycles(own.db)).toEqual(expected.map((line, n) => `2100-01-01T0${n + 1}:00 ${line}`));
});

// a rule of each hour: its cycles on the hour, and what a person runs at ten past; `over` ends the earliest one that is open
const RUN = 'run';
const OVER = 'over';
test.for<[string, Config['overlap'], readonly (number | typeof RUN | typeof OVER)[], string[]]>([
  ['one that waits leaves the place to the calendar', 'queue', [1, RUN, 2], ['processing', 'manual', 'processing']],
  ['two do', 'queue', [1, RUN, RUN, 2], ['processing', 'manual', 'manual', 'processing']],
  ['one that reads is waited for', 'queue', [1, OVER, RUN, 2], ['completed', 'manual', 'processing']],
  [
    'a second one of the calendar is left out all the same',
    'queue',
    [1, RUN, 2, 3],
    ['processing', 'manual', 'processing', 'skipped overlap'],
  ],
  [
    'and when the one of the person reads',
    'queue',
    [1, RUN, 2, OVER, 3],
    ['completed', 'manual', 'processing', 'skipped overlap'],
  ],
  ['with skip it is one that is not over', 'skip', [1, OVER, RUN, 2], ['completed', 'manual', 'skipped overlap']],
])('a cycle that a person runs takes no place of a regular one: %s', async ([, overlap, steps, expected]) => {
  const triggerRuleId = await plannedRule(own.db, tenant, { ...hourly, overlap });
  let minutes = 0;
  for (const step of steps) {
    if (step === OVER)
      await own.db.$client.query(`
        update scheduled_trigger_execution set status = 'completed', read_all = true, high_user_id = '', fence = fence + 1
         where id = (select id from scheduled_trigger_execution where status = 'processing' order by scheduled_at limit 1)`);
    minutes = typeof step === 'number' ? step * 60 : minutes + 10;
    await travelTo(own.db, new Date(Date.parse('2100-01-01T00:00:01Z') + minutes * 60_000).toISOString());
    if (step === RUN) await by(runCycleNow, tenant, { triggerRuleId });
    else if (step !== OVER) await open();
  }
  expect(await cycles(own.db, `reason_code, case origin when 'manual' then origin end`)).toEqual(
    expected.map((line) => expect.stringMatching(new RegExp(`${line === 'manual' ? 'processing manual' : line}$`))),
  );
});

test('a stopped account opens nothing; when it goes on, what it missed is a misfire', async () => {
  await plannedRule(own.db, tenant, hourly);
  await own.db.$client.query('update line_oa set stopped_at = app_now()');
  await travelTo(own.db, '2100-01-01T02:30:00Z');
  expect(await open()).toEqual({ opened: 0, skipped: 0, lateSeconds: [], looked: 0 });
  expect(await cyclesWithin(own.db, 2_000)).toEqual([]);
  await own.db.$client.query('update line_oa set stopped_at = null');
  const { lateSeconds, ...counts } = await open();
  expect(counts).toEqual({ opened: 1, skipped: 1, looked: 1 });
  expect(lateSeconds).toEqual([expect.closeTo(1_800, -3)]); // the one of two o'clock, at half past
});

test('the look ahead tells when the next cycle is due, and that there is something to plan', async () => {
  await plannedRule(own.db, tenant, hourly);
  expect(await cyclesWithin(own.db, 2_000)).toEqual([]);
  await travelTo(own.db, '2100-01-01T00:59:59.000Z');
  const [wait = 0] = await cyclesWithin(own.db, 2_000);
  expect(wait).toBeGreaterThan(0);
  expect(wait).toBeLessThanOrEqual(1_000);
  await insertTimeRule(own.db, tenant, hourly);
  expect(await cyclesWithin(own.db, 2_000)).toContain(0);
});

test('a person runs a cycle beside the calendar, or leaves the next one out; only of a live rule of the account', async () => {
  const triggerRuleId = await plannedRule(own.db, tenant, hourly);
  const other = await insertTenant(own.db);
  expect(await by(runCycleNow, other, { triggerRuleId })).toBeUndefined();
  expect(await by(skipNextCycle, other, { triggerRuleId })).toBeUndefined();
  expect(await by(runCycleNow, tenant, { triggerRuleId })).toEqual({
    id: expect.any(String),
    behind: [],
    isStopped: false,
  });
  expect(await by(skipNextCycle, tenant, { triggerRuleId })).toBe('2100-01-01T01:00:00.000Z');
  expect(await cycles(own.db, 'reason_code, origin')).toEqual([
    '2100-01-01T00:00 processing manual',
    '2100-01-01T01:00 skipped by_person cron',
  ]);
  expect(await nextRuns(own.db)).toEqual(['2100-01-01T02:00']);
  await own.db.$client.query('update trigger_rule set deleted_date = app_now()');
  expect(await by(runCycleNow, tenant, { triggerRuleId })).toBeUndefined();
  expect(await by(skipNextCycle, tenant, { triggerRuleId })).toBeUndefined();
});

test('the moves of a cycle are the same in the code, in the guard of its table and in the README', async () => {
  const moves = Object.entries(TRANSITIONS).flatMap(([from, tos]) => tos.map((to) => `${from}>${to}`));
  expect(await guardedMoves(own.db, 'scheduled_trigger_execution')).toEqual(moves.sort());
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const drawn = [...readme.matchAll(/^ {2}(\w+) --> (\w+):/gm)].map(([, from, to]) => `${from}>${to}`);
  expect([...new Set(drawn)].sort()).toEqual(moves.sort());
});

test('no cycle has two rows, whoever writes them', async () => {
  const id = await plannedRule(own.db, tenant, hourly);
  const insert = () =>
    own.db.$client.query(
      `insert into scheduled_trigger_execution (organization_id, line_oa_id, trigger_rule_id, scheduled_at)
       select organization_id, line_oa_id, id, '2100-01-01T01:00Z' from trigger_rule where id = $1`,
      [id],
    );
  await insert();
  await expect(insert()).rejects.toThrow('uq_scheduled_trigger_execution');
  await travelTo(own.db, '2100-01-01T01:00:00Z');
  await open(); // somebody was quicker: it goes on with the next one
  expect(await columnOf(own.db, 'select count(*) from scheduled_trigger_execution')).toEqual(['1']);
  expect(await nextRuns(own.db)).toEqual(['2100-01-01T02:00']);
});
