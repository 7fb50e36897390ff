import { randomBytes } from 'node:crypto';
import type { Tenant } from '@dueline/contracts';
import { insertTenant, lineUserId, type TestDb, testDb } from '@dueline/db/testing';
import { PermanentError } from '@dueline/kernel';
import { createTrackedLink, issueLink, recordClick } from '@dueline/link-tracking';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

let shared: TestDb;
let tenant: Tenant;
let other: Tenant;
let trackedLinkId: string;

const URL_OF_SHOP = 'https://example.com/ร้าน?a=1';
const PERSON = lineUserId(1);
const PREVIEW = 'facebookexternalhit/1.1;line-poker/1.0';

beforeAll(async () => {
  shared = await testDb();
  tenant = await insertTenant(shared.db);
  other = await insertTenant(shared.db);
  trackedLinkId = await createTrackedLink(shared.db, tenant, { name: 'shop', url: URL_OF_SHOP });
});
afterAll(() => shared[Symbol.asyncDispose]());
beforeEach(() => shared.db.$client.query('delete from link_click; delete from event_outbox'));

const click = (changes: object = {}) => ({ idempotencyKey: crypto.randomUUID(), ...changes });
const clicks = async () =>
  (
    await shared.db.$client.query(
      `select organization_id, line_oa_id, tracked_link_id, link_issue_id, user_id, is_robot, user_agent from link_click order by id`,
    )
  ).rows;
const topics = async () => (await shared.db.$client.query('select topic, user_id from event_outbox')).rows;

test('a click on an issued link leads to its target, and is known to be that person’s and of that message', async () => {
  const issue = await issueLink(shared.db, tenant, { trackedLinkId, userId: PERSON });
  const recorded = await recordClick(shared.db, { code: issue.code }, click({ userAgent: 'Safari Line/14.0' }));
  expect(recorded).toEqual({ url: URL_OF_SHOP, isRobot: false, isNew: true });
  expect(await clicks()).toEqual([
    {
      ...{ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId, tracked_link_id: trackedLinkId },
      ...{ link_issue_id: issue.id, user_id: PERSON, is_robot: false, user_agent: 'Safari Line/14.0' },
    },
  ]);
  expect(await topics()).toEqual([{ topic: 'campaign_click', user_id: PERSON }]);
});

test('a click can be recorded by link and person, at the time it happened', async () => {
  const at = '2026-02-28T23:59:59.123456Z';
  const recorded = await recordClick(
    shared.db,
    { ...tenant, trackedLinkId, userId: PERSON },
    click({ occurredAt: at }),
  );
  expect(recorded).toMatchObject({ url: URL_OF_SHOP, isNew: true });
  expect(await clicks()).toMatchObject([{ link_issue_id: null, user_id: PERSON, user_agent: null }]);
  const { rows } = await shared.db.$client.query('select occurred_at = $1 as same from link_click', [at]);
  expect(rows).toEqual([{ same: true }]);
});

test('the same click reported again is one fact and one event, and still leads to the target, even at the same moment', async () => {
  const { code } = await issueLink(shared.db, tenant, { trackedLinkId, userId: PERSON });
  const same = click();
  const recorded = await Promise.all([1, 2, 3, 4].map(() => recordClick(shared.db, { code }, same)));
  expect(recorded.map(({ isNew }) => isNew).sort()).toEqual([false, false, false, true]);
  expect(recorded.every(({ url }) => url === URL_OF_SHOP)).toBe(true);
  expect(await clicks()).toHaveLength(1);
  expect(await topics()).toHaveLength(1);
});

test('a preview robot is led to the target and recorded as one', async () => {
  const { code } = await issueLink(shared.db, tenant, { trackedLinkId, userId: PERSON });
  const recorded = await recordClick(shared.db, { code }, click({ userAgent: PREVIEW }));
  expect(recorded).toEqual({ url: URL_OF_SHOP, isRobot: true, isNew: true });
  expect(await clicks()).toMatchObject([{ is_robot: true, user_agent: PREVIEW }]);
});

test('what a browser may send that cannot be stored does not lose the click', async () => {
  const { code } = await issueLink(shared.db, tenant, { trackedLinkId, userId: PERSON });
  await recordClick(shared.db, { code }, click({ userAgent: 'a\u0000b\ud800' }));
  expect(await clicks()).toHaveLength(1);
});

test('no two issues have the same code, and a code says nothing of the next', async () => {
  const issues = await Promise.all(
    Array.from({ length: 50 }, () => issueLink(shared.db, tenant, { trackedLinkId, userId: PERSON })),
  );
  expect(new Set(issues.map(({ code }) => code)).size).toBe(50);
  expect(issues.every(({ code }) => /^[A-Za-z0-9_-]{22}$/.test(code))).toBe(true);
});

test.for<[string, () => Promise<unknown>]>([
  ['a click on an unknown code', () => recordClick(shared.db, { code: 'unknown' }, click())],
  ['a click on a code that no database can hold', () => recordClick(shared.db, { code: 'a\u0000' }, click())],
  [
    'a click on a link of another account',
    () => recordClick(shared.db, { ...other, trackedLinkId, userId: PERSON }, click()),
  ],
  [
    'a click on something that is no id',
    () => recordClick(shared.db, { ...tenant, trackedLinkId: 'shop', userId: PERSON }, click()),
  ],
  ['a click of nobody', () => recordClick(shared.db, { ...tenant, trackedLinkId, userId: 'somebody' }, click())],
  [
    'a click at no time',
    () => recordClick(shared.db, { ...tenant, trackedLinkId, userId: PERSON }, click({ occurredAt: 'yesterday-ish' })),
  ],
  ['a click with an endless key', () => clickWithKey(randomBytes(10_000).toString('hex'))],
  ['a click with a key that cannot be stored', () => clickWithKey('a\u0000')],
  ['an issue of a link of another account', () => issueLink(shared.db, other, { trackedLinkId, userId: PERSON })],
  ['an issue to nobody', () => issueLink(shared.db, tenant, { trackedLinkId, userId: 'somebody' })],
  ['a link to a script', () => createTrackedLink(shared.db, tenant, { name: 'x', url: 'javascript:alert(1)' })],
  ['a link to nowhere', () => createTrackedLink(shared.db, tenant, { name: 'x', url: 'shop' })],
  ['a link without a name', () => createTrackedLink(shared.db, tenant, { name: '', url: URL_OF_SHOP })],
])('%s is refused for good, and nothing is recorded', async ([, attempt]) => {
  await expect(attempt()).rejects.toBeInstanceOf(PermanentError);
  expect(await clicks()).toEqual([]);
  expect(await topics()).toEqual([]);
});

const clickWithKey = (idempotencyKey: string) =>
  recordClick(shared.db, { ...tenant, trackedLinkId, userId: PERSON }, { idempotencyKey });
