import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLineOa, createOrganization } from '@dueline/accounts';
import { createCampaign } from '@dueline/campaigns';
import type { Tenant } from '@dueline/contracts';
import { insertRow } from '@dueline/db/testing';
import { type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId } from '@dueline/line-simulator';
import { createTrackedLink, issueCampaignLink, recordClick } from '@dueline/link-tracking';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { createRule } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT, run, serviceEnvironment } from './support.ts';

const CHANNEL = { channelId: '3000000012', channelAccessToken: 'clicks-token', users: [{ prefix: 'c1', count: 3 }] };
const SHOP = 'https://example.com/spring';

let stack: Stack;
let tenant: Tenant;
let clickService: Awaited<ReturnType<typeof startClickService>>;

beforeAll(async () => {
  stack = await startStack({ env: serviceEnvironment(), channels: [CHANNEL], tell: () => undefined });
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'clicks' });
  const account = { organizationId, ...CHANNEL, name: 'clicks', timezone: 'Asia/Tokyo', secretsKey: stack.secretsKey };
  tenant = await createLineOa(db, account);
  for (const n of [0, 1, 2]) await insertRow(db, 'line_user', of(n));
  clickService = await startClickService();
});
afterAll(async () => {
  await clickService?.close();
  await stack?.stop();
});

const ofAccount = () => ({ organization_id: tenant.organizationId, line_oa_id: tenant.lineOaId });
const of = (n: number) => ({ ...ofAccount(), user_id: nthUserId('c1', n) });

/** The service behind the links, as another team would write it: who it is, LIFF tells it or nobody does. */
async function startClickService() {
  const liff: { userId?: string } = {};
  const server = createServer(({ url = '', headers }, response) => {
    recordClick(
      stack.database.db,
      { code: url.slice(1), userId: liff.userId },
      { idempotencyKey: crypto.randomUUID(), userAgent: headers['user-agent'] },
    )
      .then(({ url: location }) => response.writeHead(302, { location }).end())
      .catch(() => response.writeHead(404).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    liff,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

/** A campaign to all three, whose text carries the link; it is due at once. */
async function sendWithLink(trackedLinkId: string): Promise<string> {
  const { db } = stack.database;
  const audienceId = await createAudience(db, tenant, { name: 'friends' });
  await addAudienceMembers(db, tenant, { audienceId, userIds: [0, 1, 2].map((n) => nthUserId('c1', n)) });
  const messages = [{ type: 'text' as const, text: 'a draft' }];
  const { id } = await createCampaign(db, tenant, { name: 'spring', castType: 'multicast', audienceId, messages });
  const { code } = await issueCampaignLink(db, tenant, { trackedLinkId, campaignId: id });
  const text = `春です 🌸 ${clickService.url}/${code} [[lid:spring]]`;
  await db.$client.query(
    `update campaign set status = 'scheduled', fence = fence + 1, start_date = app_now(), messages = $2 where id = $1`,
    [id, JSON.stringify([{ type: 'text', text }])],
  );
  return id;
}

/** A message that waits for three days, unless its person clicks the link. */
async function waitForClick(n: number, link: string): Promise<void> {
  const { db } = stack.database;
  const inHours = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const { id } = await insertRow(db, 'scheduled_action', {
    ...{ ...of(n), action_type: 'send_message', dedup_key: `wait-${n}` },
    action_config: { messages: [{ type: 'text', text: `ขอบคุณ 🎁 [[lid:thanks-${n}]]` }] },
    ...{ execute_at: inHours(72), due_at: inHours(72), anchor_at: inHours(-1), expires_at: inHours(72) },
  });
  const wait = { scheduled_action_id: id, n: 0, source: 'link', ref_id: link, branch: 'clicked' };
  await insertRow(db, 'action_wait', { ...of(n), ...wait });
}

/** A rule on the clicks of a link in the messages of one campaign. */
const answerClicks = (lid: string, sourceConfig: { trackedLinkId: string; campaignId: string }) =>
  createRule(stack.database.db, tenant, {
    ...{ name: lid, sourceType: 'campaign_click', sourceConfig, frequency: 'once' },
    actionType: 'send_message',
    actionConfig: { messages: [{ type: 'text', text: `よく見てくれました 👀 [[lid:${lid}]]` }] },
  });

async function device(n: number, deed: 'open' | 'tap', body: object = {}): Promise<unknown> {
  const response = await fetch(`${stack.line.controlUrl}/users/${nthUserId('c1', n)}/${deed}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ channelId: CHANNEL.channelId, ...body }),
  });
  expect(response.status).toBe(200);
  return response.json();
}

async function received(count: number): Promise<(string | null)[]> {
  for (let deadline = performance.now() + 60_000; ; await sleep(50)) {
    const receipts = await stack.line.receiptsSince(0);
    if (receipts.length >= count || performance.now() > deadline) return receipts.map(({ lid }) => lid).sort();
  }
}

const resultsOf = async (id: string) => {
  const env = { ...process.env, DATABASE_URL: stack.databaseUrl };
  const { stdout, stderr } = await run(
    process.execPath,
    ['apps/ops/src/main.ts', 'campaigns', 'results', id, '--json'],
    { env, cwd: ROOT },
  );
  expect(stderr).toBe('');
  return JSON.parse(stdout);
};

test('the link of a campaign arrives with its text; who taps it gets what waited for the click and what a rule on the clicks of this campaign says, previews do nothing, and the results tell of both [T30]', async () => {
  const link = await createTrackedLink(stack.database.db, tenant, { name: 'shop', url: SHOP });
  for (const n of [0, 1, 2]) await waitForClick(n, link);
  const campaign = await sendWithLink(link);
  const { id: other } = await createCampaign(stack.database.db, tenant, {
    ...{ name: 'autumn', castType: 'broadcast', messages: [{ type: 'text', text: 'a draft' }] },
  });
  await answerClicks('seen', { trackedLinkId: link, campaignId: campaign });
  await answerClicks('of another', { trackedLinkId: link, campaignId: other });
  expect(await received(3)).toEqual(['spring', 'spring', 'spring']);
  const [{ acceptSeq } = { acceptSeq: 0 }] = await stack.line.receiptsSince(0);

  for (const n of [0, 1, 2]) await device(n, 'open');
  const tap = { acceptSeq, urlIndex: 0, ua: 'ios' };
  expect(await device(1, 'tap', tap)).toMatchObject({ status: 302, location: SHOP });
  clickService.liff.userId = nthUserId('c1', 0);
  expect(await device(0, 'tap', { ...tap, ua: 'liff' })).toMatchObject({ status: 302, location: SHOP });

  expect(await received(5)).toEqual(['seen', 'spring', 'spring', 'spring', 'thanks-0']);
  await expect.poll(async () => (await resultsOf(campaign)).standing, { timeout: 45_000 }).toBe('sent');
  expect(await resultsOf(campaign)).toMatchObject({
    people: { accepted: 3, open: 0 },
    clicks: { clicks: 2, people: 1, byUnknown: 1, links: [{ name: 'shop', url: SHOP }] },
  });
  const { rows } = await stack.database.db.$client.query(
    'select count(*)::int as robots from link_click where is_robot',
  );
  expect(rows).toEqual([{ robots: 3 }]);
});
