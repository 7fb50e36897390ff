import { openAttention } from '@dueline/attention';
import { createCampaign } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
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
  ).toEqual([...['id stands', '3 scheduled', '2 draft', '', 'more: repeat it with --after 2']]);
  const page = await campaigns('list', '--after', '2', '--status', 'draft,cancel', '--json');
  expect(JSON.parse(page.out)).toMatchObject({ campaigns: [{ id: '1', name: 'spring', status: 'draft' }], next: null });
  expect(await campaigns('list', '--status', 'sent')).toMatchObject({
    code: 0,
    out: expect.stringContaining('no campaign'),
  });
});

test('one campaign is shown with what it says and how far it is; another account cannot see it', async () => {
  const { id, fence } = await dueCampaign(own.db, tenant, { text: 'two for one' });
  await own.db.$client.query('update campaign set confirmed_count = 1250');
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
    out: `campaign ${id}: changed: it has changed since you looked: look again`,
  });
  expect(await campaigns('cancel', id, '--why', 'too early')).toMatchObject({
    code: 0,
    out: `campaign ${id}: cancelled`,
  });
  expect(
    await columnOf(
      own.db,
      `select concat_ws(' ', operation, before ->> 'status', after ->> 'status', done_by, reason) from audit_log`,
    ),
  ).toEqual(['campaign_cancel scheduled cancel mika too early']);
});

const rowOf = (columns: string) => columnOf(own.db, `select concat_ws(' ', ${columns}) from campaign order by id`);
const trail = () =>
  columnOf(
    own.db,
    `select concat_ws(' ', operation, before ->> 'status', after ->> 'status', done_by, reason) from audit_log order by id`,
  );

test('a campaign is edited, moved, paused, resumed, unscheduled, copied and deleted, each with its line in the trail', async () => {
  const { id } = await dueCampaign(own.db, tenant);
  const said: string[] = [];
  for (const words of [
    ['edit', id, '--name', 'autumn'],
    ['reschedule', id, '--at', '2030-01-01T09:00:00+09:00', '--not-after', '2030-01-02T00:00:00Z'],
    ['pause', id, '--why', 'wait for legal'],
    ['resume', id, '--by', 'ken'],
    ['edit', id, '--not-after', 'none'],
    ['edit', id, '--text', 'one', '--text', 'two'],
    ['copy', id],
    ['delete', id],
  ])
    said.push((await campaigns(...words)).out);
  expect(said).toEqual([
    ...['campaign 1: scheduled', 'campaign 1: scheduled', 'campaign 1: paused: by_person', 'campaign 1: scheduled'],
    ...[
      'campaign 1: scheduled',
      'campaign 1: draft: preview and schedule it again',
      'campaign 2: draft, a copy of 1',
      'campaign 1: deleted (draft)',
    ],
  ]);
  expect(
    await rowOf(`name, status, messages -> 1 ->> 'text', start_date at time zone 'UTC', not_after, confirmed_count`),
  ).toEqual([...['autumn draft two 2030-01-01 00:00:00', 'autumn draft two']]);
  expect(await trail()).toEqual([
    ...['campaign_edit scheduled scheduled mika', 'campaign_reschedule scheduled scheduled mika'],
    ...['campaign_pause scheduled paused mika wait for legal', 'campaign_resume paused scheduled ken'],
    ...['campaign_edit scheduled scheduled mika', 'campaign_edit scheduled draft mika'],
    ...['campaign_copy draft mika', 'campaign_delete draft draft mika'],
  ]);
});

test('a campaign that met more people than were confirmed starts when so many are confirmed, which ends its item', async () => {
  const { id } = await dueCampaign(own.db, tenant);
  await own.db.$client.query(
    `update campaign set status = 'sending', claimed_at = clock_timestamp(), confirmed_count = 1, fence = fence + 1;
     update campaign set status = 'needs_attention', reason_code = 'more_than_confirmed', fence = fence + 1`,
  );
  const item = {
    ...tenant,
    kind: 'campaign_not_sent',
    refId: id,
    userId: null,
    reasonCode: 'more_than_confirmed',
  } as const;
  await inTransaction(own.db, (tx) => openAttention(tx, [item]));
  expect(await campaigns('resolve', id, '--why', 'as it is')).toMatchObject({
    code: 1,
    out: expect.stringContaining('not_frozen'),
  });
  expect(await campaigns('resolve', id, '--confirm', 'nothing', '--why', 'unseen')).toMatchObject({ code: 1 });
  const { token } = JSON.parse((await campaigns('preview', id, '--json')).out);
  expect(await campaigns('resolve', id, '--confirm', token, '--why', 'they all signed up')).toMatchObject({
    ...{ code: 0, out: `campaign ${id}: scheduled` },
  });
  expect(await rowOf('status, confirmed_count')).toEqual(['scheduled']);
  expect(await columnOf(own.db, `select concat_ws(' ', status, closed_by, resolution) from attention_item`)).toEqual([
    'resolved mika they all signed up',
  ]);
  expect(await campaigns('retry', id, '--why', 'x')).toMatchObject({
    code: 1,
    out: expect.stringContaining('wrong_status: it is scheduled'),
  });
});

test.for([
  [['launch'], 'there is no command launch'],
  [['show'], 'it needs the id of a campaign'],
  [['show', '1', '2'], 'one campaign at a time'],
  [['show', 'spring'], 'spring is not the id of a campaign'],
  [['edit', '1'], 'edit needs --name, --text, --audience, --at or --not-after'],
  [['reschedule', '1', '--not-after', 'none'], 'reschedule needs --at <time>'],
  [['retry', '1'], 'retry needs --why <reason>'],
  [['resolve', '1'], 'resolve needs --why <reason>'],
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
  expect(names.slice(0, 3)).toEqual(['create', 'list', 'show']);
  for (const name of names)
    expect(await campaigns(name, '--help')).toMatchObject({
      code: 0,
      out: expect.stringContaining(`campaigns ${name}`),
    });
});
