import { readFileSync } from 'node:fs';
import type { Tenant } from '@dueline/contracts';
import { columnOf, guardedMoves, insertTenant, insertUsers, type TestDb, testDb } from '@dueline/db/testing';
import { afterAll, beforeEach, expect, test } from 'vitest';
import {
  type CampaignDraft,
  type CampaignSchedule,
  createCampaign,
  scheduleCampaign,
  TRANSITIONS,
} from '../src/index.ts';
import { dueCampaign } from '../src/testing.ts';
import { claimOne, insertAudience, start, states } from './support.ts';

let own: TestDb;
let tenant: Tenant;
const disposals: TestDb[] = [];
beforeEach(async () => {
  own = await testDb();
  disposals.push(own);
  tenant = await insertTenant(own.db);
});
afterAll(async () => {
  for (const database of disposals) await database[Symbol.asyncDispose]();
});

const messages = [{ type: 'text' as const, text: 'x' }];
const startDate = '2030-01-01T09:00:00+09:00';

test('the moves of a campaign are the same in the code, in the guard of its table and in the README', async () => {
  const moves = Object.entries(TRANSITIONS).flatMap(([from, tos]) => tos.map((to) => `${from}>${to}`));
  expect(await guardedMoves(own.db, 'campaign')).toEqual(moves.sort());
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const drawn = [...readme.matchAll(/^ {2}(\w+) --> (\w+):/gm)].map(([, from, to]) => `${from}>${to}`);
  expect([...new Set(drawn)].sort()).toEqual(moves.sort());
});

test('a campaign is written as a draft, scheduled and re-scheduled under the fence its author saw [SEM-119]', async () => {
  const draft = await createCampaign(own.db, tenant, { name: 'spring', castType: 'broadcast', messages });
  const scheduled = await scheduleCampaign(own.db, tenant, { campaign: draft, startDate, confirmedCount: 7 });
  expect(scheduled).toEqual({ id: draft.id, fence: '1' });
  expect(await scheduleCampaign(own.db, tenant, { campaign: draft, startDate })).toBeUndefined(); // somebody else saw an older one
  if (scheduled === undefined) throw new Error('unreachable');
  const again = await scheduleCampaign(own.db, tenant, { campaign: scheduled, startDate });
  expect(await columnOf(own.db, 'select extract(epoch from start_date)::bigint from campaign')).toEqual([
    String(Date.parse(startDate) / 1_000),
  ]);
  expect(again).toEqual({ id: draft.id, fence: '2' });
  expect(await states(own.db)).toEqual(['scheduled 2']);
});

test('a campaign of another account is not scheduled, and its audience cannot be named', async () => {
  const other = await insertTenant(own.db);
  const draft = await createCampaign(own.db, other, { name: 'theirs', castType: 'broadcast', messages });
  const audienceId = await insertAudience(own.db, other, []);
  expect(await scheduleCampaign(own.db, tenant, { campaign: draft, startDate })).toBeUndefined();
  await expect(
    createCampaign(own.db, tenant, { name: 'x', castType: 'multicast', audienceId, messages }),
  ).rejects.toThrow('/audienceId: no such audience');
});

test.for([
  ['/name', { name: '', castType: 'broadcast', messages }],
  ['/messages', { name: 'x', castType: 'broadcast', messages: [] }],
  ['/messages', { name: 'x', castType: 'broadcast', messages: Array(6).fill(messages[0]) }],
  [
    '/messages/0/text: placeholders',
    { name: 'x', castType: 'broadcast', messages: [{ type: 'text', text: '{{ display_name | "you" }}' }] },
  ],
  ['/castType', { name: 'x', castType: 'narrowcast', messages }],
  ['/audienceId', { name: 'x', castType: 'multicast', messages }],
])('what is wrong at %s is refused by name', async ([where, draft]) => {
  await expect(createCampaign(own.db, tenant, draft as CampaignDraft)).rejects.toThrow(`invalid at ${where}`);
});

test.for<[string, Partial<CampaignSchedule>]>([
  ['/startDate', { startDate: 'tomorrow' }],
  ['/notAfter', { startDate, notAfter: startDate }],
  ['/confirmedCount', { startDate, confirmedCount: 0 }],
])('a schedule with a wrong %s is refused by name', async ([where, schedule]) => {
  const campaign = await createCampaign(own.db, tenant, { name: 'x', castType: 'broadcast', messages });
  await expect(scheduleCampaign(own.db, tenant, { startDate, ...schedule, campaign })).rejects.toThrow(
    `invalid at ${where}`,
  );
});

test('what was frozen is changed by nobody', async () => {
  const [userId = ''] = await insertUsers(own.db, tenant, 1);
  await dueCampaign(own.db, tenant, { audienceId: await insertAudience(own.db, tenant, [userId]) });
  await start(own.db, await claimOne(own.db));
  for (const change of [`messages = '[]'`, 'planned_count = 2', 'frozen_at = null', `cast_type = 'broadcast'`]) {
    await expect(own.db.$client.query(`update campaign set ${change}`)).rejects.toMatchObject({ code: 'DL004' });
  }
  await expect(own.db.$client.query('update campaign_chunk set chunk_no = 1')).rejects.toMatchObject({ code: 'DL004' });
});
