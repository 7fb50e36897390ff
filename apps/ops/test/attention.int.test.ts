import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { listAttention, openAttention } from '@dueline/attention';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runActions } from '../src/actions/run.ts';
import { runAttention } from '../src/attention.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

async function run(command: typeof runAttention, ...args: string[]) {
  const written = { out: [] as string[], error: [] as string[] };
  const print = (line: string) => written.out.push(line);
  const printError = (line: string) => written.error.push(line);
  const code = await command({ env: { DATABASE_URL: own.urlOf('ops') }, print, printError, login: 'mika' }, args);
  return { out: written.out.join('\n'), error: written.error.join('\n'), code };
}
const attention = (...args: string[]) => run(runAttention, ...args);

/** An action that failed, with the item that tells of it; its id. */
async function failedAction(whose = tenant): Promise<string> {
  const { id } = await insertRow(own.db, 'scheduled_action', {
    ...{ organization_id: whose.organizationId, line_oa_id: whose.lineOaId, user_id: lineUserId(1) },
    ...{ action_type: 'send_message', action_config: { messages: [] }, dedup_key: crypto.randomUUID() },
    ...{ execute_at: new Date(), due_at: new Date(), status: 'failed', executed_at: new Date() },
  });
  await openItem(String(id), whose);
  return String(id);
}
const openItem = (refId: string, whose = tenant) =>
  inTransaction(own.db, (tx) =>
    openAttention(tx, [
      {
        ...{ ...whose, kind: 'action_failed', refId, userId: lineUserId(1), reasonCode: 'decision_failed' },
        detail: { retryCount: 3 },
      },
    ]),
  );

test('what needs a person is listed, oldest first, page by page, and what was closed with who and why', async () => {
  for (const refId of ['7', '8', '9']) await openItem(refId);
  const { out, code } = await attention('list', '--limit', '2');
  expect(code).toBe(0);
  expect(out).toMatch(/^account \d+ account, times of .* \(and UTC\)\n\nid +of +reason +person +since +detail\n/);
  expect(out).toMatch(new RegExp(`^1 +action 7 +decision_failed +${lineUserId(1)} .* retryCount 3$`, 'm'));
  expect(out).toMatch(/more: repeat it with --after 2$/);
  expect(JSON.parse((await attention('list', '--after', '2', '--json')).out)).toMatchObject({
    ...{ items: [{ id: '3', refId: '9' }], next: null },
  });
  expect(await attention('dismiss', '2', '--why', 'known', '--by', 'ken')).toMatchObject({
    ...{ code: 0, out: 'item 2: dismissed' },
  });
  expect((await attention('list', '--status', 'dismissed')).out).toMatch(/^2 +action 8 .* ken: known$/m);
  expect((await attention('list', '--status', 'resolved')).out).toMatch(/^nothing resolved in account \d+ account$/);
});

test('an item is dismissed once, by its own account, and what was not is told with exit code 1', async () => {
  const other = await insertTenant(own.db);
  await openItem('7');
  await openItem('8', other);
  const account = ['--account', tenant.lineOaId];
  const { out, code } = await attention('dismiss', '1', '2', '--why', 'known', ...account);
  expect(code).toBe(1);
  expect(out).toBe(`item 1: dismissed\nitem 2: no open item of account ${tenant.lineOaId} has this id`);
  expect(await attention('dismiss', '1', '--why', 'again', ...account)).toMatchObject({ code: 1 });
  expect(await listAttention(own.db, other)).toHaveLength(1);
  expect(await attention('list')).toMatchObject({ code: 1, error: expect.stringContaining('say which account') });
});

test('a failed action that is revived, alone or among many, needs nobody any more; another keeps its item', async () => {
  const ids = [await failedAction(), await failedAction(), await failedAction()];
  await run(runActions, 'revive', ids[0] ?? '');
  await own.db.$client.query(`update scheduled_action set lane = 2 where id = ${ids[1]}`);
  const preview = JSON.parse((await run(runActions, 'revive', '--lane', '2', '--json')).out);
  await run(runActions, 'revive', '--confirm', preview.token);
  expect(
    await columnOf(
      own.db,
      `select concat_ws(' ', ref_id, status, closed_by, resolution) from attention_item order by id`,
    ),
  ).toEqual([
    `${ids[0]} resolved mika its action runs anew`,
    `${ids[1]} resolved mika its action runs anew`,
    `${ids[2]} open`,
  ]);
});

test('help says what there is, and what is not understood is told with exit code 2', async () => {
  for (const args of [[], ['help'], ['list', '--help']])
    expect(await attention(...args)).toMatchObject({
      code: 0,
      out: expect.stringContaining('dueline attention dismiss'),
    });
  const wrong: [string[], string][] = [
    [['frobnicate'], 'there is no command frobnicate'],
    [['list', '--color', 'red'], "Unknown option '--color'"],
    [['list', '--status', 'shut'], '--status shut'],
    [['list', '--limit', '501'], '--limit 501'],
    [['list', '--after', 'x'], '--after x'],
    [['list', '7'], 'list takes'],
    [['dismiss', '--why', 'x'], 'needs the id'],
    [['dismiss', 'x', '--why', 'x'], 'x is not the id'],
    [['dismiss', '7'], 'needs --why'],
    [['dismiss', '7', '--why', 'x', '--limit', '3'], 'belong to list'],
  ];
  for (const [args, message] of wrong)
    expect([args, await attention(...args)]).toEqual([
      args,
      { out: '', code: 2, error: expect.stringContaining(message) },
    ]);
});

test('the process itself answers, with the exit code', async () => {
  await openItem('7');
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const dueline = (...args: string[]) =>
    promisify(execFile)(process.execPath, [main, ...args], { env: { DATABASE_URL: own.urlOf('ops') } });
  expect(JSON.parse((await dueline('attention', 'dismiss', '1', '--why', 'x', '--json')).stdout)).toEqual({
    ...{ dismissed: ['1'], left: [] },
  });
  await expect(dueline('attention', 'dismiss', '1', '--why', 'x')).rejects.toMatchObject({ code: 1 });
});

test('the commands of accounts say what is wrong in plain words, with the exit code', async () => {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const account = (...args: string[]) =>
    promisify(execFile)(process.execPath, [main, 'account', ...args], { env: { DATABASE_URL: own.urlOf('ops') } });
  expect((await account('--help')).stdout).toMatch(/^usage: dueline account create/);
  await expect(account('halt')).rejects.toMatchObject({ code: 2, stderr: expect.stringMatching(/^usage: /) });
  await expect(account('stop', '999')).rejects.toMatchObject({
    ...{ code: 1, stderr: 'account 999 does not exist or is stopped already\n' },
  });
});
