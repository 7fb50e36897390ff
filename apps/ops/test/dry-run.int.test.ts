import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
import { createRule } from '@dueline/trigger-rules';
import { ruleDraft } from '@dueline/trigger-rules/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runDryRun } from '../src/dry-run.ts';

let own: TestDb;
let folder: string;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db, { timezone: 'Asia/Tokyo' });
  await insertUsers(own.db, tenant, 3);
  folder = await mkdtemp(join(tmpdir(), 'dry-run-'));
});
afterEach(async () => {
  await own[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function run(...args: string[]) {
  const written = { out: [] as string[], error: [] as string[] };
  const print = (line: string) => written.out.push(line);
  const printError = (line: string) => written.error.push(line);
  const code = await runDryRun({ env: { DATABASE_URL: own.urlOf('ops') }, print, printError, login: 'mika' }, args);
  return { out: written.out.join('\n'), error: written.error.join('\n'), code };
}

/** A plan changes, and that was decided a minute later. */
async function changePlan(user: number, to: string): Promise<void> {
  await own.db.$client.query(
    'update line_user set attributes = jsonb_build_object($3::text, $4::text) where line_oa_id = $1 and user_id = $2',
    [...[tenant.lineOaId, lineUserId(user), 'plan', to]],
  );
  await own.db.$client.query(
    `with gone as (delete from event_outbox returning *)
     insert into event_archive (event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, root_id, depth)
     select event_id, topic, organization_id, line_oa_id, user_id, payload, bulk, occurred_at, recorded_at, root_id, depth from gone`,
  );
}

async function write(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, JSON.stringify(content));
  return path;
}
const gold = ruleDraft({ name: 'gold', sourceConfig: { attribute: 'plan', to: 'gold' } });

test('a draft in a file is played over the past of the account: how often, for whom, and how many messages; nothing is written', async () => {
  await changePlan(1, 'gold');
  await changePlan(2, 'silver');
  await changePlan(1, 'silver');
  await changePlan(1, 'gold');
  const file = await write('gold.json', gold);
  const { out, code } = await run(file, '--from', '1d');
  expect(code).toBe(0);
  expect(out).toContain('fires     2 times for 1 person, of 4 events that it listens to');
  expect(out).toContain('messages  2\n');
  expect(out).toMatch(/\n\d{4}-\d\d-\d\d +4 +2 +2 {2}▇+\n/);
  expect(out).toContain(lineUserId(1));
  expect(out).toMatch(/not_matched +value_not_matched +2/);
  expect(await columnOf(own.db, 'select count(*) from trigger_log union all select count(*) from delivery')).toEqual([
    '0',
    '0',
  ]);
});

test('a draft is compared with the live rule of its name: who is reached newly, and who no more', async () => {
  await createRule(own.db, tenant, gold);
  await changePlan(1, 'gold');
  await changePlan(2, 'silver');
  const file = await write('rules.json', [gold, { ...gold, sourceConfig: { attribute: 'plan', to: 'silver' } }]);
  const { out } = await run(`${file}#1`, '--from', '1d');
  expect(out).toMatch(new RegExp(`newly reached {2}1 person: ${lineUserId(2)}\nno more {8}1 person: ${lineUserId(1)}`));
  const { compared } = JSON.parse((await run('gold', '--from', '1d', '--json')).out) as { compared: object };
  expect(compared).toMatchObject({ gains: { people: 0 }, loses: { people: 0 }, live: { fires: 1 } });
});

test('where history begins later than was asked, it says so', async () => {
  await changePlan(1, 'gold');
  const file = await write('gold.json', gold);
  expect((await run(file, '--from', '2001-01-01')).out).toMatch(/history begins .*nothing before is played/);
  expect(await run(file, '--from', '2001-01-01', '--to', '2002-01-01T12:00')).toMatchObject({
    ...{ code: 1, error: expect.stringContaining('there is no history between 2000-12-31T15:00') },
  });
});

test.for([
  ['dry-run needs one file', 2, '--from', '7d'],
  ['--from soon: a time is', 2, 'x', '--from', 'soon'],
  ['none.json: there is no such file', 1, 'none.json'],
  ['the account has no rule gold', 1, 'gold'],
] as const)('%s', async ([problem, code, ...args]) => {
  expect(await run(...args)).toMatchObject({ code, error: expect.stringContaining(problem) });
});

const DAY = 86_400;
const DAILY = {
  ...{
    name: 'daily',
    sourceType: 'scheduled_time',
    actionType: 'send_message',
    frequency: 'every_time',
    mode: 'draft',
  },
  actionConfig: { messages: [{ type: 'text', text: 'hello' }] },
};
const golden = { attribute: 'plan', op: 'eq', value: 'gold' };
const setMonth = (quota: number) =>
  own.db.$client.query(
    'insert into month_quota (line_oa_id, organization_id, quota, used, told_at) values ($1, $2, $3, 0, app_now())',
    [tenant.lineOaId, tenant.organizationId, quota],
  );

test('what a rule that is set off by time will do is told for each day to come, against what is left of the month', async () => {
  await changePlan(1, 'gold');
  await setMonth(2);
  const file = await write('daily.json', { ...DAILY, sourceConfig: { cron: '0 9 * * *', conditions: golden } });
  const { out, code } = await run(file, '--next', '7d');
  expect(code).toBe(0);
  expect(out).toContain('fires     7 times for 1 person, of 21 meetings with a person in 7 cycles');
  expect(out.match(/\n\d{4}-\d\d-\d\d +3 +1 +1 {2}▇+/g)).toHaveLength(7);
  expect(out).toMatch(/cancelled +conditions_no_longer_hold +14\nfired +due +7\n/);
  expect(out).toMatch(/\nmonth {5}\d of them are still to come in this month of LINE: 2 are left/);
  expect(out).toContain('of what is ahead nothing is known');
  const { draft, ahead } = JSON.parse((await run(file, '--next', '40', '--json')).out) as {
    draft: object;
    ahead: { thisMonth: number; later: number };
  };
  expect(draft).toMatchObject({ cycles: 40, fires: 40, messages: { sent: 40 } });
  expect(ahead.thisMonth + ahead.later).toBe(40);
});

test('the past of a rule that is set off by time meets people as they were in each cycle', async () => {
  await changePlan(1, 'gold');
  await moveProductTime(own.db, 2 * DAY);
  await changePlan(1, 'silver');
  await moveProductTime(own.db, 3 * DAY);
  const file = await write('daily.json', { ...DAILY, sourceConfig: { cron: '0 9 * * *', conditions: golden } });
  const { draft } = JSON.parse((await run(file, '--from', '4d', '--to', '+2d', '--json')).out) as { draft: object };
  expect(draft).toMatchObject({ cycles: 6, events: 18, fires: 1, people: 1 });
});

test('a rule that is set off by time is compared with one that is set off by an event, as far as both are known', async () => {
  await createRule(own.db, tenant, gold);
  await changePlan(1, 'gold');
  await moveProductTime(own.db, DAY);
  const file = await write('daily.json', { ...DAILY, sourceConfig: { cron: '*/30 * * * *' }, frequency: 'once' });
  const { out } = await run(file, '--from', '2d', '--against', 'gold');
  expect(out).toContain(`newly reached  2 people: ${lineUserId(3)}, ${lineUserId(2)}\nno more        nobody`);
  expect(await run(file, '--next', '1d', '--against', 'gold')).toMatchObject({
    ...{ code: 1, error: expect.stringContaining('only rules that are set off by time can be compared') },
  });
});

const EVERY_MINUTE = { ...DAILY, sourceConfig: { cron: '* * * * *' } };
test.for([
  ['more than 1,000 cycles: choose a range that ends at', '--from', '7d'],
  ['2000 cycles: from 1 to 1,000 can be tried at once', '--next', '2000'],
  ['either --next, or --from and --to', '--next', '7d', '--from', '1d'],
  ['--next soon: how long from now', '--next', 'soon'],
] as const)('a range that is too long or none is told so: %s', async ([problem, ...args]) => {
  await moveProductTime(own.db, 8 * DAY); // history begins with the month, which may have begun today
  const file = await write('often.json', EVERY_MINUTE);
  expect((await run(file, ...args)).error).toContain(problem);
});

test('clocks that are changed leave out or move a cycle as the rule says', async () => {
  const cyclesOf = async (name: string, gap: object) => {
    const sourceConfig = { cron: '30 2 * * *', timezone: 'Europe/Berlin', ...gap };
    const file = await write(name, { ...DAILY, sourceConfig });
    const { out } = await run(file, '--from', '2099-03-28', '--to', '2099-03-31', '--json'); // the gap is on the 29th
    return (JSON.parse(out) as { draft: { cycles: number } }).draft.cycles;
  };
  expect(await cyclesOf('moved.json', {})).toBe(3);
  expect(await cyclesOf('left-out.json', { gap: 'skip' })).toBe(2);
});

test('more people and cycles than one dry run looks at are told what would fit', async () => {
  await own.db.$client.query(
    `insert into line_user (organization_id, line_oa_id, user_id)
     select $1, $2, 'U' || lpad(to_hex(n), 32, '0') from generate_series(10, 10007) as n`,
    [tenant.organizationId, tenant.lineOaId],
  );
  const file = await write('often.json', EVERY_MINUTE);
  expect((await run(file, '--next', '1000')).error).toContain(
    '10,001 people and 1,000 cycles are more than the 10,000,000 meetings of one dry run: choose a range of 999 cycles at most',
  );
});

test('a rule that events set off has no future, and one that is none is told so', async () => {
  const rules = await write('rules.json', [gold, { ...gold, frequency: 'hourly' }]);
  expect((await run(`${rules}#0`, '--next', '3')).error).toContain('the draft has no cycles to count');
  expect((await run(`${rules}#0`, '--from', '+1d', '--to', '+2d')).error).toContain('what will happen is not known');
  expect((await run(`${rules}#1`)).error).toMatch(/rules.json#1: \/frequency: /);
  expect((await run(rules)).error).toContain('has 2 rules: name one');
});
