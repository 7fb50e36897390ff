import type { Tenant } from '@dueline/contracts';
import { insertRow, insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { PermanentError } from '@dueline/kernel';
import {
  type ClickedLink,
  countCampaignClicks,
  createTrackedLink,
  issueCampaignLink,
  issueLink,
  recordClick,
} from '@dueline/link-tracking';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
let other: Tenant;
let shop: string;
let menu: string;
let campaignId: string;

const ANNA = lineUserId(1);
const BEN = lineUserId(2);
const PREVIEW = 'facebookexternalhit/1.1;line-poker/1.0';
const NONE = { clicks: 0, people: 0, byUnknown: 0 };

const insertCampaign = async (of: Tenant): Promise<string> => {
  const row = { organization_id: of.organizationId, line_oa_id: of.lineOaId, name: 'spring', cast_type: 'broadcast' };
  return String((await insertRow(shared.db, 'campaign', row)).id);
};
const link = (of: Tenant, name: string) =>
  createTrackedLink(shared.db, of, { name, url: `https://example.com/${name}` });

beforeAll(async () => {
  shared = await testDb();
  [tenant, other] = [await insertTenant(shared.db), await insertTenant(shared.db)];
  [shop, menu] = [await link(tenant, 'shop'), await link(tenant, 'menu')];
});
afterAll(() => shared[Symbol.asyncDispose]());
beforeEach(async () => {
  await shared.db.$client.query('delete from link_click; delete from event_outbox');
  campaignId = await insertCampaign(tenant);
});

const issue = async (trackedLinkId: string) =>
  (await issueCampaignLink(shared.db, tenant, { trackedLinkId, campaignId })).code;
const click = (clicked: ClickedLink, changes: object = {}) =>
  recordClick(shared.db, clicked, { idempotencyKey: crypto.randomUUID(), ...changes });
const count = (of = tenant) => countCampaignClicks(shared.db, of, { campaignId });

test('a link has one code in a campaign, however often and at once it is asked for, and another in each campaign', async () => {
  const codes = await Promise.all([1, 2, 3, 4].map(() => issue(shop)));
  expect(new Set(codes).size).toBe(1);
  const second = await insertCampaign(tenant);
  const again = await issueCampaignLink(shared.db, tenant, { trackedLinkId: shop, campaignId: second });
  expect(codes).not.toContain(again.code);
});

test('a campaign counts the clicks of each of its links, and each person once in all of them together', async () => {
  const [shopCode, menuCode] = [await issue(shop), await issue(menu)];
  for (const userId of [ANNA, ANNA, BEN]) await click({ code: shopCode, userId });
  await click({ code: menuCode, userId: ANNA });
  expect(await count()).toEqual({
    ...{ clicks: 4, people: 2, byUnknown: 0 },
    links: [
      { trackedLinkId: shop, name: 'shop', url: 'https://example.com/shop', clicks: 3, people: 2, byUnknown: 0 },
      { trackedLinkId: menu, name: 'menu', url: 'https://example.com/menu', clicks: 1, people: 1, byUnknown: 0 },
    ],
  });
});

test('a click that is reported again counts once, even at the same moment', async () => {
  const code = await issue(shop);
  await Promise.all([1, 2, 3].map(() => click({ code, userId: ANNA }, { idempotencyKey: 'same' })));
  expect(await count()).toMatchObject({ clicks: 1, people: 1 });
});

test('a click that names nobody counts as a click, and as no person', async () => {
  const code = await issue(shop);
  expect(await click({ code })).toMatchObject({ url: 'https://example.com/shop', isNew: true });
  await click({ code });
  await click({ code, userId: ANNA });
  expect(await count()).toMatchObject({ clicks: 3, people: 1, byUnknown: 2 });
});

test('only a click of somebody known becomes an event: of nobody there is nothing to decide', async () => {
  const code = await issue(shop);
  await click({ code });
  await click({ code, userId: ANNA });
  const { rows } = await shared.db.$client.query('select topic, user_id from event_outbox');
  expect(rows).toEqual([{ topic: 'campaign_click', user_id: ANNA }]);
});

test.for<[string, () => Promise<unknown>]>([
  ['robots and previews', async () => click({ code: await issue(shop), userId: ANNA }, { userAgent: PREVIEW })],
  ['a click on the link that names no campaign', () => click({ ...tenant, trackedLinkId: shop, userId: ANNA })],
  [
    'a click on the same link in a message to one person',
    async () =>
      click({ code: (await issueLink(shared.db, tenant, { trackedLinkId: shop, userId: ANNA })).code, userId: ANNA }),
  ],
])('%s: none of the clicks of a campaign', async ([, happens]) => {
  await issue(shop);
  await happens();
  expect(await count()).toMatchObject({ ...NONE, links: [{ ...NONE, trackedLinkId: shop }] });
});

test('a click that is told late, or comes long after the campaign, counts', async () => {
  const code = await issue(shop);
  await click({ code, userId: ANNA }, { occurredAt: '2026-01-01T00:00:00Z' });
  await click({ code, userId: BEN }, { occurredAt: '2036-01-01T00:00:00Z' });
  expect(await count()).toMatchObject({ clicks: 2, people: 2 });
});

test('a campaign without links has no clicks, and no account sees those of another', async () => {
  expect(await count()).toEqual({ ...NONE, links: [] });
  await click({ code: await issue(shop), userId: ANNA });
  expect(await count(other)).toEqual({ ...NONE, links: [] });
});

test('whoever is verified at a link that was issued to somebody else is who clicked', async () => {
  const { code } = await issueLink(shared.db, tenant, { trackedLinkId: shop, userId: ANNA });
  await click({ code, userId: BEN });
  const { rows } = await shared.db.$client.query('select user_id from link_click');
  expect(rows).toEqual([{ user_id: BEN }]);
});

test.for<[string, () => Promise<unknown>]>([
  ['a link of another account', async () => issue(await link(other, 'theirs'))],
  [
    'a campaign of another account',
    async () => issueCampaignLink(shared.db, tenant, { trackedLinkId: shop, campaignId: await insertCampaign(other) }),
  ],
  ['no campaign', () => issueCampaignLink(shared.db, tenant, { trackedLinkId: shop, campaignId: 'spring' })],
  ['a click of somebody who is nobody', async () => click({ code: await issue(shop), userId: 'Anna' })],
  ['the clicks of no campaign', () => countCampaignClicks(shared.db, tenant, { campaignId: 'spring' })],
])('%s: refused for good', async ([, attempt]) => {
  await expect(attempt()).rejects.toBeInstanceOf(PermanentError);
});
