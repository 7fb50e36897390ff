import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { ruleDraft } from '@dueline/trigger-rules/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runRules } from '../src/rules/index.ts';

let own: TestDb;
let folder: string;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
  folder = await mkdtemp(join(tmpdir(), 'rules-'));
});
afterEach(async () => {
  await own[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

async function rules(...args: string[]) {
  const written = { out: [] as string[], error: [] as string[] };
  const print = (line: string) => written.out.push(line);
  const printError = (line: string) => written.error.push(line);
  const code = await runRules({ env: { DATABASE_URL: own.urlOf('ops') }, print, printError, login: 'mika' }, args);
  return { out: written.out.join('\n'), error: written.error.join('\n'), code };
}

async function write(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
const named = (name: string, changes: object = {}) => ({ ...ruleDraft(), name, ...changes });

test('a folder of rules is shown, applied by its token, and applied again without a change', async () => {
  await write('a.json', named('welcome gold'));
  await write('deeper/b.json', [named('one'), named('two', { frequency: 'once' })]);
  await write('notes.txt', 'none of mine');
  const shown = await rules('apply', folder);
  expect(shown.out).toContain('+ welcome gold\n    /name: "welcome gold"');
  const [, token] = /--account \d+ --confirm (\w+) does it/.exec(shown.out) ?? [];
  expect(await columnOf(own.db, 'select count(*) from trigger_rule')).toEqual(['0']);
  expect((await rules('apply', folder, '--confirm', token ?? '')).out).toMatch(
    /^\+ welcome gold \(rule \d+\)[\s\S]*applied$/,
  );
  expect(await rules('apply', folder, '--yes')).toMatchObject({
    code: 0,
    out: '  3 as they are already\nnothing to change',
  });
  await write('a.json', named('welcome gold', { cooldownSeconds: 60 }));
  expect((await rules('apply', folder, '--yes', '--why', 'less noise')).out).toContain('    /cooldownSeconds: 0 -> 60');
  expect(await columnOf(own.db, `select done_by || ': ' || coalesce(reason, '') from audit_log order by id`)).toEqual([
    'mika: ',
    'mika: less noise',
  ]);
});

test('a rule is observed, published, switched off and on, shown and deleted, by its name or its id', async () => {
  await rules('apply', await write('a.json', named('welcome gold')), '--yes');
  const state = () =>
    columnOf(own.db, `select concat_ws(' ', mode, enabled, version, deleted_date is not null) from trigger_rule`);
  const [id] = await columnOf(own.db, 'select id from trigger_rule');
  expect(await state()).toEqual(['draft t 1 f']);
  expect(await rules('observe', 'welcome gold')).toMatchObject({
    code: 0,
    out: expect.stringContaining(`rule ${id}: observes`),
  });
  expect(await state()).toEqual(['observe t 2 f']);
  expect(await rules('publish', String(id))).toMatchObject({ code: 0, out: `rule ${id}: is live` });
  await rules('disable', 'welcome gold');
  expect(await state()).toEqual(['live f 4 f']);
  await rules('enable', 'welcome gold');
  expect((await rules('list')).out).toMatch(
    /welcome gold +5 +live +attribute_changed \{"attribute":"plan"\} +send_message +every_time/,
  );
  expect((await rules('show', 'welcome gold')).out).toContain('version 5, live');
  expect(JSON.parse((await rules('show', 'welcome gold', '--json')).out)).toMatchObject({
    rule: { versions: { length: 5 } },
  });
  expect(await rules('delete', 'welcome gold')).toMatchObject({ code: 0 });
  expect(await state()).toEqual(['live t 6 t']);
  expect(await rules('delete', 'welcome gold')).toMatchObject({
    code: 1,
    error: 'the account has no rule welcome gold',
  });
  expect(await columnOf(own.db, 'select operation from audit_log order by id')).toEqual([
    ...['rules_apply', 'rule_observe', 'rule_publish', 'rule_disable', 'rule_enable', 'rule_delete'],
  ]);
});

test('a draft that names what is not there any more cannot be published', async () => {
  const { rows } = await own.db.$client.query<{ id: string }>(
    `insert into audience (organization_id, line_oa_id, name) values ($1, $2, 'x') returning id::text`,
    [tenant.organizationId, tenant.lineOaId],
  );
  const action = { actionType: 'add_to_audience', actionConfig: { audienceId: rows[0]?.id } };
  expect(await rules('apply', await write('a.json', { ...named('joins'), ...action }), '--yes')).toMatchObject({
    code: 0,
  });
  await own.db.$client.query('update audience set deleted_date = app_now()');
  expect(await rules('publish', 'joins')).toMatchObject({
    ...{
      code: 1,
      error: 'rule is invalid at /rule/actionConfig/audienceId: there is no such audience in this account',
    },
  });
  expect(await columnOf(own.db, 'select count(*) from audit_log')).toEqual(['1']);
});

test('files are checked without a database, and everything wrong is named by file and field', async () => {
  await write('good.json', named('good'));
  expect(await rules('validate', folder)).toEqual({ code: 0, out: 'one rule is well-formed', error: '' });
  await write('bad.json', [named('fine'), named('bad', { frequency: 'hourly' })]);
  await write('worse.json', '{"name": ');
  const { code, error } = await rules('validate', folder);
  expect({ code, error }).toMatchObject({ code: 1, error: expect.stringMatching(/worse\.json is no JSON/) });
  await rm(join(folder, 'worse.json'));
  for (const command of ['validate', 'apply'])
    expect((await rules(command, folder)).error).toMatch(/^\S+bad\.json#1: \/frequency: /);
  expect((await rules('validate', join(folder, 'none'))).error).toMatch(/none: there is no such file or folder$/);
});

test('every example of the documentation is well-formed', async () => {
  const examples = join(import.meta.dirname, '../../../docs/rules');
  expect(await rules('validate', examples)).toMatchObject({ code: 0, error: '' });
});

test('caps are set, listed and taken away', async () => {
  expect((await rules('caps')).out).toBe('the account has no cap');
  expect((await rules('cap', '--max', '3', '--per', '1d')).out).toBe('at most 3 messages to a person within 86400 s');
  await rules('cap', '--max', '1', '--per', '1h');
  expect((await rules('caps')).out).toBe('messages  within\n1         3600 s\n3         86400 s');
  expect((await rules('cap', '--max', 'none', '--per', '1h')).out).toBe('no cap within 3600 s');
  expect((await rules('caps')).out).toBe('messages  within\n3         86400 s');
  expect(await rules('cap', '--max', '1', '--per', '1s')).toMatchObject({ code: 1 });
});

test('who matches a rule already is counted, confirmed and looked at', async () => {
  await rules('apply', await write('a.json', named('welcome gold', { mode: 'live' })), '--yes');
  const { id } = JSON.parse((await rules('enrol', 'welcome gold', '--per-minute', '60', '--json')).out) as {
    id: string;
  };
  expect((await rules('enrolments')).out).toMatch(/counting +0 +0 +0 +60$/);
  expect(await rules('enrol-confirm', id)).toMatchObject({ code: 1, error: `enrolment ${id}: it is not counted` });
  await own.db.$client.query(`update rule_enrolment set status = 'counted', fence = fence + 1`);
  expect(await rules('enrol-confirm', id)).toMatchObject({ code: 0, out: `enrolment ${id}: people enter` });
  expect(await rules('enrol', 'welcome gold')).toMatchObject({
    code: 1,
    error: 'people are on their way into the rule already',
  });
  expect(await rules('enrol-cancel', id)).toMatchObject({ code: 0 });
  expect((await rules('enrolments')).out).toContain('cancelled, by_person');
  expect(await columnOf(own.db, 'select operation from audit_log order by id')).toEqual([
    ...['rules_apply', 'rule_enrol', 'enrol_confirm', 'enrol_cancel'],
  ]);
});

test.for([
  ['there is no command', 'fly'],
  ['--per-minute is a number', 'enrol', 'a', '--per-minute', 'many'],
  ['enrol-confirm needs the id of one enrolment', 'enrol-confirm'],
  ['x is not the id of an enrolment', 'enrol-cancel', 'x'],
  ['apply needs files', 'apply'],
  ['needs the id or the name of one rule', 'publish'],
  ['needs the id or the name of one rule', 'publish', 'a', 'b'],
  ['--yes does not belong to publish', 'publish', 'a', '--yes'],
  ['list takes nothing', 'list', 'x'],
  ['cap needs --max', 'cap', '--max', '3'],
  ['--max is a number', 'cap', '--max', 'many', '--per', '1d'],
  ['--per 1y: a duration is like', 'cap', '--max', '1', '--per', '1y'],
  ['validate needs files', 'validate'],
])('%s', async ([problem = '', ...args]) => {
  expect(await rules(...args)).toMatchObject({ code: 2, error: expect.stringContaining(problem) });
});

const CALENDARS: [problem: string, sourceConfig: object][] = [
  ['/sourceConfig/cron: cron "61 * * * *" is invalid', { cron: '61 * * * *' }],
  ['/sourceConfig/cron: cron "0 9 30 2 *" never comes true', { cron: '0 9 30 2 *' }],
  ['/sourceConfig/timezone: timezone "Asia/Tokio" is not one', { cron: '0 9 * * *', timezone: 'Asia/Tokio' }],
];

test.for(CALENDARS)(
  'when a rule has its cycles is looked at when it is written: %s',
  async ([problem, sourceConfig]) => {
    const file = await write('a.json', [named('fine'), named('daily', { sourceType: 'scheduled_time', sourceConfig })]);
    for (const command of [['validate'], ['apply', '--yes']])
      expect(await rules(...command.slice(0, 1), file, ...command.slice(1))).toMatchObject({
        ...{ code: 1, error: expect.stringContaining(`${file}#1: ${problem}`) },
      });
    expect(await columnOf(own.db, 'select count(*) from trigger_rule')).toEqual(['0']);
  },
);
