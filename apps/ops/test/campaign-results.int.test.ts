import { recordDeed } from '@dueline/accounts';
import { closeCampaigns } from '@dueline/campaigns';
import { dueCampaign } from '@dueline/campaigns/testing';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { createTrackedLink, issueCampaignLink, recordClick } from '@dueline/link-tracking';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { campaignsOf } from './campaigns-support.ts';
import { startCampaigns } from './healthy-campaigns.ts';

let own: TestDb;
let tenant: Tenant;
let broadcast: string;
let multicast: string;
beforeAll(async () => {
  own = await testDb();
  tenant = await startCampaigns(own.db, 1_750);
  [broadcast = '', multicast = ''] = (await columnOf(own.db, 'select id from campaign order by id')).map(String);
  await own.db.$client.query("update line_oa set name = 'Sakura Café 🌸', timezone = 'Asia/Tokyo'");
  await own.db.$client.query("update campaign set name = 'Spring' where id = $1", [multicast]);
  for (const [chunk, to] of ENDS.entries()) await end(multicast, { chunk, ...to });
  await end(broadcast, { chunk: 0, status: 'accepted', seconds: 0.5 });
  await clickALot();
  for (const operation of ['campaign_pause', 'campaign_resume'])
    await inTransaction(own.db, (tx) => recordDeed(tx, tenant, { ...DEED, operation, before: { id: multicast } }));
  await closeCampaigns(own.db);
});
afterAll(() => own[Symbol.asyncDispose]());

const DEED = { by: 'mika', reason: 'a wrong price', after: {} };
const ENDS = [
  { status: 'accepted', seconds: 1.5 },
  { status: 'accepted', seconds: 12.25 },
  { status: 'unknown', reason: 'ambiguous' },
  { status: 'refused', reason: 'too_large' },
];
const results = (...args: string[]) => campaignsOf(own)('results', '--account', tenant.lineOaId, ...args);

interface End {
  readonly chunk: number;
  readonly status: string;
  readonly reason?: string;
  /** After the freeze. */
  readonly seconds?: number;
}
async function end(campaignId: string, { chunk, status, reason = '', seconds = 1 }: End): Promise<void> {
  for (const to of ['sending', status])
    await own.db.$client.query(
      `update delivery
          set status = $3, fence = delivery.fence + 1, lease_until = case when $3 = 'sending' then clock_timestamp() end,
              first_attempt_at = frozen_at + interval '0.25 s', reason_code = nullif($4, ''),
              accepted_at = case when $3 = 'accepted' then frozen_at + make_interval(secs => $5) end
         from campaign where campaign.id = campaign_id and campaign_id = $1 and chunk_no = $2`,
      [campaignId, chunk, to, reason, seconds],
    );
}

/** 72 people click the shop 90 times, 20 of them the menu as well, which is clicked five times by nobody known. */
async function clickALot(): Promise<void> {
  const link = async (name: string) => {
    const trackedLinkId = await createTrackedLink(own.db, tenant, { name, url: `https://example.com/${name}` });
    return (await issueCampaignLink(own.db, tenant, { trackedLinkId, campaignId: multicast })).code;
  };
  const [shop, menu] = [await link('shop'), await link('menu')];
  const click = (code: string, n?: number) =>
    recordClick(
      own.db,
      { code, ...(n !== undefined && { userId: lineUserId(n) }) },
      { idempotencyKey: crypto.randomUUID() },
    );
  for (let n = 0; n < 90; n += 1) await click(shop, (n % 72) + 1);
  for (let n = 1; n <= 20; n += 1) await click(menu, n);
  for (let n = 1; n <= 5; n += 1) await click(menu);
}

const linesOf = (out: string, head: string): string[] => {
  const lines = out.split('\n');
  const from = lines.findIndex((line) => line.startsWith(head)) + 1;
  return lines.slice(from, lines.indexOf('', from)).map((line) => line.trim().replaceAll(/ {2,}/g, '  '));
};

test('the results of a campaign say in a line how it stands, and below whom it reached and what became of the others, and why', async () => {
  const { out, code } = await results(multicast);
  expect(code).toBe(0);
  expect(out.split('\n').slice(0, 2)).toEqual([
    `Spring  (campaign ${multicast} of account ${tenant.lineOaId} Sakura Café 🌸)`,
    'needs attention: a person has to decide (chunk_unknown)',
  ]);
  expect(linesOf(out, 'whom it reached')).toEqual([
    'to audience 1: 1,750 people',
    'accepted  █████████████▊  1,000  57.1 %  LINE took it for them',
    'unknown  ██████▉  500  28.6 %  nobody can learn any more whether LINE took it',
    'refused  ███▍  250  14.3 %  LINE refused the request (too_large)',
  ]);
});

test('clicks are told by link and by person, in proportion to those for whom LINE took it, and what is not known is said', async () => {
  const { out } = await results(multicast);
  expect(linesOf(out, 'clicks')).toEqual([
    'link  clicks  people  of accepted',
    'shop  90  72  7.2 %  https://example.com/shop',
    'menu  25  20  2.0 % – 2.5 %  https://example.com/menu',
    'all links  115  72  7.2 % – 7.7 %  each person once',
    '5 clicks of nobody known: how many people that are is not known either',
  ]);
});

test('times are those of the account, with how long the sending took, when it was paused, and who did what', async () => {
  const { out } = await results(multicast);
  const times = linesOf(out, 'times of Asia/Tokyo');
  expect(times[0]).toBe('starts  2026-01-01 09:00:00  (01-01 00:00:00Z)');
  expect(times.map((line) => line.split('  ')[0])).toEqual([
    ...['starts', 'recipients frozen', 'first request', 'last accepted', 'paused', 'took'],
  ]);
  expect(times.at(-1)).toBe('took  12.3 s from the freeze to the last accepted, 82 people a second');
  expect(out).toMatch(/ mika {2}pause +a wrong price\n.* mika {2}resume +a wrong price$/);
});

test('a program gets the same as one JSON object', async () => {
  const { out } = await results(multicast, '--json');
  expect(JSON.parse(out)).toMatchObject({
    ...{ id: multicast, standing: 'needs_attention', plannedCount: 1_750, sendingSeconds: 12.25 },
    people: { accepted: 1_000, unknown: 500, refused: 250 },
    clicks: { clicks: 115, people: 72, byUnknown: 5, clickThrough: { least: 0.072, most: 0.077 } },
    ends: [{}, { end: 'refused', reasonCode: 'too_large', people: 250 }, {}],
    paused: [{ reason: 'a wrong price', from: expect.any(String), to: expect.any(String) }],
  });
});

test('of a broadcast requests are told and no people; of what has not begun, that it has not; of another account nothing', async () => {
  const sent = (await results(broadcast)).out;
  expect(sent).toContain('sent: LINE took it for everybody whom it takes messages for');
  expect(linesOf(sent, 'whom it reached')[0]).toBe('to all friends, whose number LINE alone knows: 1 request');
  const { id } = await dueCampaign(own.db, tenant, { startDate: '2999-01-01T00:00:00Z' });
  expect((await results(id)).out).toContain('scheduled: it has not begun');
  const other = await insertTenant(own.db);
  expect(await campaignsOf(own)('results', id, '--account', other.lineOaId)).toMatchObject({ code: 1, out: '' });
});

test('a campaign gets a code for a link of its account, the same again, and none for what is no link of its account', async () => {
  const link = (...args: string[]) => campaignsOf(own)('link', broadcast, '--account', tenant.lineOaId, ...args);
  const made = JSON.parse((await link('--url', 'https://example.com/new', '--name', 'new', '--json')).out);
  expect(made).toEqual({
    ...{ id: broadcast, trackedLinkId: expect.any(String), code: expect.stringMatching(/^[\w-]{22}$/) },
  });
  expect(JSON.parse((await link('--link', made.trackedLinkId, '--json')).out)).toEqual(made);
  expect((await results(broadcast)).out).toMatch(/^ {2}new +0 +0 /m);
  const theirs = await createTrackedLink(own.db, await insertTenant(own.db), { name: 'x', url: 'https://example.com' });
  expect(await link('--link', theirs)).toMatchObject({ code: 1, error: 'no such link in this account' });
});

test.for([
  [[], 'link needs --link <id>, or --url <url> and --name <name>'],
  [['--link', 'shop'], '--link shop: the id of a link'],
  [['--url', 'https://example.com'], '--url and --name belong together'],
] as const)('a link asked for with %j is refused: %s', async ([args, why]) => {
  const { code, error } = await campaignsOf(own)('link', broadcast, ...args);
  expect([code, error.split('\n')[0]]).toEqual([2, why]);
});
