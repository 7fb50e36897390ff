import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordMonth } from '@dueline/accounts';
import { createCampaign } from '@dueline/campaigns';
import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, insertUsers, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { campaignsOf } from './campaigns-support.ts';
import { startCampaigns } from './healthy-campaigns.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const campaigns = (...args: string[]) => campaignsOf(own)(...args);

/** A draft to so many people, of whom the first is left out. */
async function draftTo(people: number): Promise<string> {
  const userIds = await insertUsers(own.db, tenant, people);
  const audienceId = await createAudience(own.db, tenant, { name: 'みんな' });
  await addAudienceMembers(own.db, tenant, { audienceId, userIds });
  const { id } = await createCampaign(own.db, tenant, {
    ...{ name: '春のセール', castType: 'multicast', audienceId, exclude: { userIds: [lineUserId(1)] } },
    messages: [{ type: 'text', text: 'こんにちは 🌸' }],
  });
  return id;
}

test('a person sees whom a campaign would reach and what that takes, and schedules exactly that', async () => {
  const id = await draftTo(1_252);
  const answering = setInterval(() => void recordMonth(own.db, tenant, { quota: 5_000, used: 3_900 }), 100); // as line-delivery does
  const { out, code } = await campaigns('preview', id);
  clearInterval(answering);
  expect(code).toBe(0);
  expect(out).toMatch(/^campaign 1: 1,251 people; 1 friend left out$/m);
  expect(out).toMatch(
    /^3 requests, 1,251 messages of the month; 1,100 are left, as LINE told at .*, which is too few: it would be held$/m,
  );
  const token = out.match(/--confirm ([0-9a-f]{32})$/m)?.[1] ?? '';
  const schedule = (confirm: string) =>
    campaigns('schedule', id, '--at', '2030-01-01T09:00:00+09:00', '--confirm', confirm);
  expect(await schedule('0'.repeat(32))).toMatchObject({ code: 1, error: 'no preview of this account has this token' });
  expect(await schedule(token)).toMatchObject({ code: 0, out: 'campaign 1: scheduled for 2030-01-01T09:00:00+09:00' });
  expect(await columnOf(own.db, "select concat_ws(' ', status, confirmed_count) from campaign")).toEqual([
    'scheduled 1251',
  ]);
  expect(await columnOf(own.db, "select concat_ws(' ', operation, done_by) from audit_log")).toEqual([
    'campaign_schedule mika',
  ]);
  expect((await schedule(token)).error).toContain('the preview was confirmed before');
});

test('a preview says that LINE has not told when it has not, and that there is nothing to confirm for nobody', async () => {
  const id = await draftTo(1);
  const { out, code } = await campaigns('preview', id);
  expect(code).toBe(1);
  expect(out.split('\n')).toEqual([
    'campaign 1: 0 people; 1 friend left out',
    '0 requests, 0 messages of the month; LINE has not told how many are left',
    'nobody would be reached: there is nothing to confirm',
  ]);
  expect(await campaigns('schedule', id, '--at', '2030-01-01T09:00:00Z')).toMatchObject({
    ...{ code: 2, error: expect.stringContaining('schedule needs --confirm <token>: see it with preview 1') },
  });
});

test('a test goes to the people who are named, at most five, who are friends of this account, and is on the record', async () => {
  const id = await draftTo(6);
  const to = (...numbers: number[]) => numbers.flatMap((n) => ['--to', lineUserId(n)]);
  const { out, code } = await campaigns('test', id, ...to(1, 2, 2));
  expect([code, out]).toEqual([0, 'campaign 1: a test is on its way to 2 people (delivery 1, 2)']);
  expect(
    await columnOf(
      own.db,
      "select concat_ws(' ', kind, endpoint, user_id, published_at, status, body::jsonb #>> '{messages,0,text}') from delivery order by id",
    ),
  ).toEqual([1, 2].map((n) => `test push ${lineUserId(n)} planned こんにちは 🌸`));
  expect(await columnOf(own.db, "select concat_ws(' ', operation, done_by, before ->> 'id') from audit_log")).toEqual([
    'campaign_test mika 1',
  ]);
  expect(await columnOf(own.db, "select concat_ws(' ', status, fence) from campaign")).toEqual(['draft 0']);

  const other = await insertTenant(own.db);
  await insertUsers(own.db, other, 9);
  await own.db.$client.query('update line_user set is_following = false where user_id = $1', [lineUserId(3)]);
  const mine = ['--account', tenant.lineOaId];
  const refusals: [string[], string][] = [
    [to(1, 9), `${lineUserId(9)} is no person of account ${tenant.lineOaId}`],
    [to(3), `${lineUserId(3)} has blocked the account: nothing would arrive`],
    [to(1, 2, 3, 4, 5, 6), 'test is invalid at /: Too big'],
    [['--to', '山田'], 'test is invalid at /0'],
    [[], 'test needs --to'],
  ];
  for (const [args, error] of refusals) expect((await campaigns('test', id, ...mine, ...args)).error).toContain(error);
  expect((await campaigns('test', id, '--account', other.lineOaId, ...to(9))).error).toContain(
    'there is no campaign 1',
  );
  expect(await columnOf(own.db, 'select count(*) from delivery')).toEqual(['2']);
});

test('who got it, and who did not and why, is told in words', async () => {
  tenant = await startCampaigns(own.db);
  const campaignId = (await columnOf(own.db, "select id from campaign where cast_type = 'multicast'"))[0] ?? '';
  const who = (userId: string) => campaigns('who', campaignId, userId, '--account', tenant.lineOaId);
  const { out, code } = await who(lineUserId(501));
  expect(code).toBe(0);
  expect(out.split('\n').slice(0, 2)).toEqual([
    `campaign ${campaignId}, ${lineUserId(501)}: not yet: the request that this person is in is not at its end`,
    '  request       1 (multicast), planned',
  ]);
  expect((await who(lineUserId(502))).out).toContain('why: the account knows no such person');
  expect((await who('U1')).error).toContain('person is invalid');
  expect(await campaigns('who', campaignId)).toMatchObject({ code: 2 });
  expect((await campaigns('who', '4711', lineUserId(1), '--account', tenant.lineOaId)).error).toContain(
    'there is no campaign 4711',
  );
});

test('the evidence of a campaign is a file that can be checked without the database', async () => {
  tenant = await startCampaigns(own.db);
  const [campaignId = ''] = (await columnOf(own.db, "select id from campaign where cast_type = 'multicast'")).map(
    String,
  );
  const { out, code } = await campaigns('evidence', campaignId, '--account', tenant.lineOaId);
  expect(code).toBe(0);
  expect(out.split('\n').map((line) => JSON.parse(line).line)).toEqual(['campaign', 'request', 'request', 'end']);
  expect(
    (await campaigns('evidence', campaignId, '--account', tenant.lineOaId, '--json')).out.split('\n'),
  ).toHaveLength(4);
  const folder = mkdtempSync(join(tmpdir(), 'evidence-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'file');
  const check = async (text: string) => {
    writeFileSync(file, text);
    return campaigns('verify-evidence', file);
  };
  expect(await check(`${out}\n`)).toMatchObject({
    code: 0,
    out: `campaign ${campaignId}: 2 requests, all in order; open 501`,
  });
  expect(await check(out.replace('"people":500', '"people":50'))).toMatchObject({
    code: 1,
    error: expect.stringContaining('hash is another'),
  });
  expect(await check('')).toMatchObject({ code: 1, error: 'the end is missing' });
  expect(await campaigns('verify-evidence', `${file}-gone`)).toMatchObject({
    code: 1,
    error: expect.stringContaining('cannot be read: there is no such file or folder'),
  });
  expect(await campaigns('verify-evidence')).toMatchObject({ code: 2 });
  expect(await campaigns('evidence', '4711', '--account', tenant.lineOaId)).toMatchObject({ code: 1, out: '' });
});
