import { createCampaign } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant } from '@dueline/contracts';
import { columnOf, insertTenant, type TestDb, testDb } from '@dueline/db/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { campaignsOf } from './campaigns-support.ts';

let own: TestDb;
let tenant: Tenant;
beforeEach(async () => {
  own = await testDb();
  tenant = await insertTenant(own.db);
});
afterEach(() => own[Symbol.asyncDispose]());

const campaigns = (...args: string[]) => campaignsOf(own)(...args);

test('campaigns are listed newest first, page by page, and by their status', async () => {
  for (const name of ['spring', 'summer'])
    await createCampaign(own.db, tenant, { name, castType: 'broadcast', messages: [{ type: 'text', text: 'hi' }] });
  await dueCampaign(own.db, tenant);
  const { out, code } = await campaigns('list', '--limit', '2');
  expect(code).toBe(0);
  expect(
    out
      .split('\n')
      .slice(2)
      .map((row) =>
        row
          .split(/\s{2,}/)
          .slice(0, 2)
          .join(' '),
      ),
  ).toEqual([...['id status', '3 scheduled', '2 draft', '', 'more: repeat it with --after 2']]);
  const page = await campaigns('list', '--after', '2', '--status', 'draft,cancel', '--json');
  expect(JSON.parse(page.out)).toMatchObject({ campaigns: [{ id: '1', name: 'spring', status: 'draft' }], next: null });
  expect(await campaigns('list', '--status', 'sent')).toMatchObject({
    code: 0,
    out: expect.stringContaining('no campaign'),
  });
});

test('one campaign is shown with what it says and how far it is; another account cannot see it', async () => {
  const { id, fence } = await dueCampaign(own.db, tenant, { text: 'two for one', confirmedCount: 1_250 });
  const { out } = await campaigns('show', id);
  expect(out).toMatch(/^campaign 1 of account /);
  expect(out).toMatch(/^content +two for one$/m);
  expect(out).toMatch(/^people +up to 1,250$/m);
  expect(JSON.parse((await campaigns('show', id, '--json')).out)).toMatchObject({
    id,
    fence,
    inFlight: 0,
    result: null,
  });

  const other = await insertTenant(own.db);
  expect(await campaigns('show', id, '--account', other.lineOaId)).toMatchObject({
    ...{ code: 1, error: `there is no campaign ${id} in account ${other.lineOaId}` },
  });
  expect((await campaigns('list', '--account', other.lineOaId)).out).toContain('no campaign of account');
});

test('a campaign that has not begun is cancelled under the fence that was seen, and who did it is written down', async () => {
  const { id } = await dueCampaign(own.db, tenant);
  expect(await campaigns('cancel', id, '--fence', '0')).toMatchObject({
    code: 1,
    out: `campaign ${id}: it has changed: look again`,
  });
  expect(await campaigns('cancel', id, '--why', 'too early')).toMatchObject({ code: 0, out: `campaign ${id}: cancel` });
  expect(
    await columnOf(
      own.db,
      `select concat_ws(' ', operation, before ->> 'status', after ->> 'status', done_by, reason) from audit_log`,
    ),
  ).toEqual(['campaign_cancel scheduled cancel mika too early']);
});

test.for([
  [['launch'], 'there is no command launch'],
  [['show'], 'it needs the id of a campaign'],
  [['show', '1', '2'], 'one campaign at a time'],
  [['show', 'spring'], 'spring is not the id of a campaign'],
  [['list', '1'], 'for one campaign: show <id>'],
  [['list', '--limit', '501'], '--limit 501: a number from 1 to 500'],
  [['list', '--after', 'x'], '--after x: the id of a campaign'],
  [['list', '--status', 'running'], '--status running: one of draft, scheduled'],
  [['list', '--why', 'x'], "Unknown option '--why'"],
] as const)('%j is refused: %s', async ([args, says]) => {
  const { code, error } = await campaigns(...args);
  expect(code).toBe(2);
  expect(error).toContain(says);
});

test('every subcommand explains itself', async () => {
  const { out } = await campaigns();
  const names = [...out.matchAll(/^ {2}(\w+) .*$/gm)].map(([, name]) => name ?? '');
  expect(names.slice(0, 2)).toEqual(['list', 'show']);
  for (const name of names)
    expect(await campaigns(name, '--help')).toMatchObject({
      code: 0,
      out: expect.stringContaining(`campaigns ${name}`),
    });
});
