import { columnOf, insertRow, insertTenant, insertUsers, lineUserId, testDb } from '@dueline/db/testing';
import { expect, test } from 'vitest';
import { runHistory, runTimeline } from '../src/history/index.ts';

const USER = lineUserId(2);

async function withHistory() {
  const own = await testDb();
  const { db } = own;
  const tenant = await insertTenant(db, { timezone: 'Asia/Tokyo' });
  const base = { organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId };
  await insertUsers(db, tenant, 3);
  await db.$client.query(`update line_user set display_name = 'みか 🌸' where user_id = $1`, [USER]);
  const texts = { messages: [{ type: 'text', text: 'いらっしゃい\nvoucher 🎁' }] };
  const rule = await insertRow(db, 'trigger_rule', {
    ...{ ...base, name: '金になった', source_type: 'attribute_changed', source_config: { attribute: 'tier' } },
    ...{ action_type: 'send_message', action_config: texts },
  });
  const eventId = crypto.randomUUID();
  const decided_at = '2026-03-01T00:00:00Z';
  await insertRow(db, 'event_archive', {
    ...{
      ...base,
      user_id: USER,
      event_id: eventId,
      root_id: eventId,
      depth: 0,
      bulk: false,
      topic: 'attribute_changed',
    },
    ...{
      payload: { changed: { tier: { from: 'silver', to: 'gold' } } },
      occurred_at: decided_at,
      recorded_at: decided_at,
    },
    decided_at,
  });
  const log = { ...base, trigger_rule_id: rule.id, trigger_on: 'attribute_changed', created_date: decided_at };
  const action = { action_type: 'send_message', action_config: texts };
  await insertRow(db, 'trigger_log', {
    ...{ ...log, ...action, user_id: USER, event_id: eventId, decision: 'fired', reason_code: 'matched' },
  });
  await insertRow(db, 'trigger_log', {
    ...{ ...log, ...action, decision: 'not_matched', reason_code: 'conditions_not_met', evaluations: 1_234 },
    detail: { samples: [] },
  });
  await insertRow(db, 'delivery', {
    ...{
      ...base,
      kind: 'event',
      logical_id: `${eventId}:${rule.id}`,
      endpoint: 'push',
      user_id: USER,
      retry_key: eventId,
    },
    ...{
      body: '{}',
      body_sha256: '',
      deliver_until: '2026-03-02Z',
      status: 'accepted',
      accepted_at: '2026-03-01T00:00:02Z',
    },
    line_request_id: 'r-1',
  });
  await insertRow(db, 'scheduled_action', {
    ...{
      ...base,
      trigger_rule_id: rule.id,
      user_id: USER,
      ...action,
      execute_at: '2099-01-01Z',
      due_at: '2099-01-01Z',
      dedup_key: 'x',
    },
  });
  const said: string[] = [];
  const print = (line: string) => said.push(line);
  const deps = { env: { DATABASE_URL: own.urlOf('ops') }, print, printError: print, login: 'mika' };
  const run = async (command: typeof runHistory, ...args: string[]) => {
    said.length = 0;
    return { code: await command(deps, args), out: said.join('\n') };
  };
  return { db, run, ruleId: String(rule.id), [Symbol.asyncDispose]: () => own[Symbol.asyncDispose]() };
}

test('a person reads the timeline of another: what is to come, what was, and how it stands at LINE', async () => {
  await using own = await withHistory();
  const { run, ruleId, db } = own;
  const [actionId] = await columnOf(db, 'select id from scheduled_action');
  const { code, out } = await run(runTimeline, USER);
  expect(code).toBe(0);
  expect(out.split('\n').map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
    `${USER} みか 🌸, follows`,
    expect.stringMatching(/^account \d+ account, times of Asia\/Tokyo \(and UTC\)$/),
    '',
    'to come',
    ` 2099-01-01 09:00:00 (01-01 00:00:00Z) action ${actionId} ${ruleId} 金になった “いらっしゃい voucher 🎁”`,
    '',
    'so far, the newest first',
    ` 2026-03-01 09:00:00 (03-01 00:00:00Z) fired ${ruleId} 金になった matched, “いらっしゃい voucher 🎁”`,
    ' → accepted push at 2026-03-01 09:00:02 (03-01 00:00:02Z), LINE request r-1',
    ' 2026-03-01 09:00:00 (03-01 00:00:00Z) · tier "silver" → "gold"',
  ]);
  const json = JSON.parse((await run(runTimeline, USER, '--json')).out);
  expect(json).toMatchObject({ userId: USER, next: null, past: [{ kind: 'decision' }, { kind: 'event' }] });
  const nobody = await run(runTimeline, lineUserId(9));
  expect(nobody).toMatchObject({
    code: 0,
    out: expect.stringMatching(/not known to the account[\s\S]*nothing happened/),
  });
});

test('a timeline and a history go on where a page ended', async () => {
  await using own = await withHistory();
  const { run, ruleId } = own;
  const first = await run(runTimeline, USER, '--limit', '1');
  const place = /more: repeat it with --after (\S+)$/.exec(first.out)?.[1] ?? '';
  expect((await run(runTimeline, USER, '--limit', '1', '--after', place)).out).toContain('"silver" → "gold"');
  const page = await run(runHistory, 'rule', ruleId, '--limit', '1');
  expect(page.out).toMatch(/not_matched +conditions_not_met +\d+ 金になった +1,234 evaluations/);
  const after = /--after (\S+)$/.exec(page.out)?.[1] ?? '';
  expect((await run(runHistory, 'rule', ruleId, '--after', after)).out).toMatch(/fired +matched .*U0000…0002/);
  expect((await run(runHistory, 'user', USER)).out).toMatch(/^id +at +decision[\s\S]*fired/);
  expect((await run(runHistory, 'user', lineUserId(3))).out).toBe('nothing was decided');
});

test.for([
  [runTimeline, [USER, USER], 2, /takes the user id of one person/],
  [runTimeline, ['mika'], 1, /mika is not a user id of LINE/],
  [runTimeline, [USER, '--limit', 'x'], 2, /--limit x: a number/],
  [runTimeline, [USER, '--limit', '501'], 1, /whole number from 1 to 500/],
  [runTimeline, [USER, '--after', 'x'], 1, /no page gave such a place/],
  [runHistory, ['rule'], 2, /history takes rule and its id/],
  [runHistory, ['of', '1'], 2, /history takes rule and its id/],
  [runHistory, ['rule', 'x'], 1, /x is not the id of a rule/],
  [runHistory, ['--help'], 0, /usage: dueline history/],
  [runTimeline, [], 0, /usage: dueline timeline/],
] as const)('%o with %j is told what is wrong', async ([command, args, code, says]) => {
  await using own = await withHistory();
  expect(await own.run(command, ...args)).toEqual({ code, out: expect.stringMatching(says) });
});
