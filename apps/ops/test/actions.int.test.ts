import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, insertUsers, moveProductTime, type TestDb, testDb } from '@dueline/db/testing';
import { createDeliveries, settleDeliveries, startDeliveries } from '@dueline/deliveries';
import { deliveryToCreate } from '@dueline/deliveries/testing';
import { claimBatch, finishActions, scheduleMany } from '@dueline/scheduled-actions';
import { actionToSchedule } from '@dueline/scheduled-actions/testing';
import { createRule } from '@dueline/trigger-rules';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runActions } from '../src/actions/run.ts';
import { audit } from '../src/audit.ts';

let own: TestDb;
let tenant: Tenant;
let ruleId: string;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db, { timezone: 'Asia/Tokyo' });
  await insertUsers(own.db, tenant, 1);
  ruleId = await createRule(own.db, tenant, {
    ...{ name: '会員 welcome', sourceType: 'attribute_changed', sourceConfig: { attribute: 'city' } },
    ...{ actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'hello' }] } },
  });
});
afterEach(() => own[Symbol.asyncDispose]());

/** What a command writes, and its exit code. */
async function run(...args: string[]): Promise<{ out: string; error: string; code: number }> {
  const written = { out: [] as string[], error: [] as string[] };
  const code = await runActions(
    {
      env: { DATABASE_URL: own.urlOf('ops') },
      print: (line) => written.out.push(line),
      printError: (line) => written.error.push(line),
      login: 'mika',
    },
    args,
  );
  return { out: written.out.join('\n'), error: written.error.join('\n'), code };
}
const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).out);

async function schedule(count: number, delaySeconds = 3_600): Promise<string[]> {
  const actions = Array.from({ length: count }, () =>
    actionToSchedule(tenant, { delaySeconds, triggerRuleId: ruleId, ruleVersion: 1 }),
  );
  const results = await inTransaction(own.db, (tx) => scheduleMany(tx, actions));
  return results
    .flatMap((result) => (result.result === 'made' ? [result.id] : []))
    .sort((a, b) => Number(a) - Number(b));
}

/** An action that was decided, with its message as the worker leaves it. */
async function scheduleDone(): Promise<string> {
  const [id = ''] = await schedule(1, 0);
  const [ticket] = await claimBatch(own.db, {
    ...{ claimedBy: 'cron:1', via: 'queue', limit: 1, leaseSeconds: 60, maxProcessing: 10, overdueMs: 0 },
  });
  if (ticket === undefined) throw new Error('an action was to be claimed');
  const [channelId] = await columnOf(own.db, 'select channel_id from line_oa');
  await inTransaction(own.db, async (tx) => {
    await finishActions(tx, [{ ...ticket, to: 'done' }]);
    await createDeliveries(tx, [
      deliveryToCreate(tenant, { kind: 'action', logicalId: id, scheduledActionId: id, channelId: String(channelId) }),
    ]);
  });
  return id;
}

async function send(outcome: 'accepted' | 'ambiguous'): Promise<void> {
  const [id, fence] = await columnOf(own.db, 'select unnest(array[id, fence]) from delivery');
  const [started] = await startDeliveries(own.db, tenant, {
    ...{
      tickets: [{ id: String(id), fence: String(fence) }],
      start: { claimedBy: 'line:1', leaseSeconds: 60, settleSeconds: 60 },
    },
  });
  if (started === undefined) throw new Error('a delivery was to be started');
  await settleDeliveries(own.db, [{ started, result: { outcome } }]);
}

test('help tells every command, and what is not understood is told with exit code 2', async () => {
  const { out, code } = await run('--help');
  expect(code).toBe(0);
  for (const command of ['list', 'show', 'edit', 'postpone', 'fire', 'cancel', 'uncancel', 'revive'])
    expect(out).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
  const wrong: [string[], string][] = [
    [['frobnicate'], 'there is no command frobnicate'],
    [['list', '--color', 'red'], "list: Unknown option '--color'"],
    [['list', '7'], 'for one action: show 7'],
    [['list', '--limit', 'all'], '--limit all'],
    [['show'], 'show needs the id'],
    [['show', 'x'], 'x is not the id of an action'],
    [['edit', '7'], 'edit needs --at <time>, --text <text>, or both'],
    [['postpone', '7', '--for', '2x'], 'a duration is like 90s'],
    [['postpone', '7', '--for', '2h', '--to', '2030-01-01T00:00'], 'either --for <duration> or --to <time>'],
    [['cancel', '7', '8'], 'one id at a time'],
    [['cancel', '7', '--rule', '1'], 'either an id or a filter'],
    [['cancel', '--rule', '1', '--confirm', 'x'], 'it takes neither id nor filter'],
    [['cancel', '7', '--fence', 'x'], '--fence x'],
  ];
  for (const [args, message] of wrong) {
    expect([args, await run(...args)]).toEqual([args, { out: '', code: 2, error: expect.stringContaining(message) }]);
  }
});

test('what waits is listed with local time and UTC, page by page, and shown whole', async () => {
  const [first = '', second = ''] = await schedule(2);
  await own.db.$client.query(`update scheduled_action set execute_at = '2030-01-01T00:00:00Z', fence = 1`);
  const { out } = await run('list', '--limit', '1');
  expect(out).toMatch(
    /^account \d+ account, times of Asia\/Tokyo \(and UTC\)\n\nid +status +due +lane +rule +person +content\n/,
  );
  expect(out).toContain(
    `${first}   pending  2030-01-01 09:00:00  (01-01 00:00:00Z)  normal  ${ruleId} 会員 welcome  U0000…0001  hello`,
  );
  const page = out.match(/--after (\S+)$/)?.[1] ?? '';
  expect(await json('list', '--after', page)).toMatchObject({ actions: [{ id: second }], next: null });
  expect((await run('show', first)).out).toMatch(/^status +pending$/m);
  expect(await run('show', '999')).toEqual({
    out: '',
    code: 1,
    error: `there is no action 999 in account ${tenant.lineOaId}`,
  });
  expect((await run('list', '--contains', 'nothing')).out).toContain('no action of account');
});

test('one action is changed, and its trail says by whom and why', async () => {
  const [id = ''] = await schedule(1);
  expect(await run('edit', id, '--at', '2030-01-01T09:00', '--text', 'new', '--why', 'rain')).toEqual({
    ...{ code: 0, error: '', out: `action ${id}: pending, due 2030-01-01 09:00:00  (01-01 00:00:00Z)` },
  });
  expect(await run('edit', id, '--text', 'late', '--fence', '0')).toEqual({
    ...{ code: 1, out: '', error: `action ${id}: changed: it was changed since you looked at it` },
  });
  expect(await json('cancel', id, '--by', 'ken')).toEqual({ id, result: 'changed', fence: '2' });
  const { out } = await run('show', id);
  expect(out).toMatch(/edit by mika: rain\n {4}due .* → 2030-01-01 09:00:00 .*\n {4}content +hello → new\n/);
  expect(out).toMatch(/cancel by ken\n {4}status +pending → cancelled$/);
});

test('many are changed only after what would change was shown and confirmed', async () => {
  await schedule(3);
  const preview = await run('postpone', '--rule', ruleId, '--for', '1h30m');
  expect(preview.code).toBe(0);
  expect(preview.out).toContain('postpone: 3 of 3 actions would change. Nothing has changed yet.');
  expect(await columnOf(own.db, 'select distinct fence from scheduled_action')).toEqual(['0']);
  const command = preview.out.match(/\.\/dueline actions (.*)$/)?.[1]?.split(' ') ?? [];
  await own.db.$client.query(
    'update scheduled_action set fence = fence + 1 where id = (select min(id) from scheduled_action)',
  );

  const report = await run(...command);

  expect(report.code).toBe(1); // not all of it
  expect(report.out).toMatch(
    /^postpone: 2 actions changed\.\nLeft as they are: 1 \(\d+\)\.\n +1 {2}changed: it was changed since/,
  );
  expect(await run('cancel', ...command.slice(1))).toMatchObject({
    code: 1,
    error: 'the preview was of postpone, not of cancel',
  });
});

test('[T12] what is done is cancelled in its message while that has not left, alone or among many', async () => {
  const id = await scheduleDone();
  expect(await run('cancel', id)).toMatchObject({ code: 0, out: expect.stringContaining('will not be sent') });
  expect(await columnOf(own.db, 'select status || fence from delivery')).toEqual(['cancelled1']);
  expect(await run('cancel', id)).toMatchObject({ code: 1, error: expect.stringContaining('done: it is done') });
  await own.db.$client.query('delete from delivery');

  await own.db.$client.query('delete from scheduled_action');
  await scheduleDone();
  const { moves, token } = await json('cancel', '--status', 'done');
  expect(moves).toBe(1);
  expect(await json('cancel', '--confirm', token)).toMatchObject({ changed: 0, deliveriesCancelled: 1, refused: {} });
});

test.for([
  ['accepted', 'already_sent', 'accepted'],
  ['ambiguous', 'maybe_sent', 'planned'],
] as const)('[T12] a message whose attempt was %s cannot be stopped: %s', async ([outcome, refusal, status]) => {
  const id = await scheduleDone();
  await send(outcome);
  expect(await run('cancel', id)).toMatchObject({ code: 1, error: expect.stringContaining(refusal) });
  expect(await columnOf(own.db, 'select status from delivery')).toEqual([status]);
});

test('what people cancel, bring back and fire leaves the data as it must be', async () => {
  const [cancelled = '', back = ''] = await schedule(2);
  await run('cancel', cancelled);
  await run('cancel', back);
  await run('uncancel', back);
  await moveProductTime(own.db, 60);
  expect(await columnOf(own.db, 'select status from scheduled_action order by id')).toEqual(['cancelled', 'pending']);
  const { checks } = await audit(own.db, {
    leaseOverSeconds: 60,
    silentSeconds: 60,
    overdueSeconds: 300,
    historyDays: 31,
  });
  expect(checks.filter(({ violations }) => violations > 0)).toEqual([]);
});

test('with several accounts a command says which there are, and touches only the one that it names', async () => {
  const other = await insertTenant(own.db);
  const [id = ''] = await schedule(1);
  expect(await run('cancel', id)).toMatchObject({
    code: 1,
    error: expect.stringMatching(/say which account with --account <id>:\n {2}id +name\n/),
  });
  expect(await run('cancel', id, '--account', '999')).toMatchObject({
    code: 1,
    error: expect.stringContaining('there is no account 999'),
  });
  expect(await run('cancel', id, '--account', other.lineOaId)).toMatchObject({
    code: 1,
    error: expect.stringContaining('not_found'),
  });
  expect(await run('cancel', id, '--account', tenant.lineOaId)).toMatchObject({ code: 0 });
});

test('the process itself answers, with the exit code', async () => {
  const [id = ''] = await schedule(1);
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const dueline = (...args: string[]) =>
    promisify(execFile)(process.execPath, [main, 'actions', ...args], { env: { DATABASE_URL: own.urlOf('ops') } });
  expect(JSON.parse((await dueline('cancel', id, '--json')).stdout)).toEqual({ id, result: 'changed', fence: '1' });
  await expect(dueline('cancel', id)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('it is cancelled'),
  });
  await expect(dueline('frobnicate')).rejects.toMatchObject({ code: 2 });
});
