import { randomBytes } from 'node:crypto';
import { createLineOa, createOrganization } from '@dueline/accounts';
import { createCampaign } from '@dueline/campaigns';
import { scheduleAsSeen } from '@dueline/campaigns/testing';
import { inTransaction, sql } from '@dueline/db';
import { type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId } from '@dueline/line-simulator';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { createRule } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Span, startCollector } from './collector.ts';
import { serviceEnvironment } from './support.ts';

const CHANNEL = { channelId: '3000000001', channelAccessToken: 'e2e-token', users: [{ prefix: 'e2', count: 50 }] };

let collector: Awaited<ReturnType<typeof startCollector>>;
let stack: Stack;
let tenant: { organizationId: string; lineOaId: string };

const rule = (lid: string, attribute: string, delaySeconds?: number) => ({
  name: lid,
  sourceType: 'attribute_changed' as const,
  sourceConfig: { attribute },
  actionType: 'send_message' as const,
  actionConfig: {
    messages: [{ type: 'text' as const, text: `สวัสดี 👋 [[lid:${lid}]]` }],
    ...(delaySeconds === undefined ? {} : { delay: { seconds: delaySeconds } }),
  },
  frequency: 'every_time' as const,
});

beforeAll(async () => {
  collector = await startCollector();
  stack = await startStack({
    env: serviceEnvironment(),
    channels: [CHANNEL],
    tell: () => undefined,
    appEnv: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  });
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'e2e' });
  tenant = await createLineOa(db, {
    organizationId,
    ...CHANNEL,
    name: 'e2e',
    timezone: 'Asia/Bangkok',
    secretsKey: stack.secretsKey,
  });
  await createRule(db, tenant, rule('now', 'city'));
  await createRule(db, tenant, rule('later', 'city', 1));
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, Array.from({ length: 50 }, (_, n) => nthUserId('e2', n))],
  );
});

afterAll(async () => {
  await stack?.stop();
  await collector?.close();
});

async function moveTo(city: string, numbers: readonly number[]): Promise<void> {
  await stack.database.db.$client.query('update line_user set attributes = attributes || $1 where user_id = any($2)', [
    { city },
    numbers.map((n) => nthUserId('e2', n)),
  ]);
}

async function receiptsOf(numbers: readonly number[], expected: number): Promise<string[]> {
  const users = new Set(numbers.map((n) => nthUserId('e2', n)));
  for (let deadline = performance.now() + 60_000; ; await sleep(50)) {
    const mine = (await stack.line.receiptsSince(0)).filter(({ user }) => users.has(user));
    if (mine.length >= expected || performance.now() > deadline) return mine.map(({ lid }) => lid ?? '').sort();
  }
}

const until = async (condition: () => boolean) => {
  for (let deadline = performance.now() + 45_000; !condition() && performance.now() < deadline; ) await sleep(50);
};

test('one trace leads from the change of an attribute to the request at LINE, through every app, now and later', async () => {
  await moveTo('กรุงเทพ', [0]);
  expect(await receiptsOf([0], 2)).toEqual(['later', 'now']);

  const pushes = () => collector.spans.filter(({ name }) => name === 'LINE push');
  await until(() => pushes().length >= 2);
  await until(() => servicesOf(pushes()[0]).size >= 2);
  expect(new Set(pushes().map(({ traceId }) => traceId)).size).toBe(1);
  expect([...servicesOf(pushes()[0])].sort()).toEqual(['line-delivery', 'trigger-worker']);
  for (const push of pushes()) expect(rootOf(push)).toMatchObject({ service: 'trigger-worker' });
});

test('the trace of whoever wrote the change goes on to LINE where the event is decided straight from the outbox', async () => {
  const { traceId, spanId } = await moveTraced('奈良', 7);
  expect(await receiptsOf([7], 2)).toEqual(['later', 'now']);

  const pushes = () => collector.spans.filter((span) => span.traceId === traceId && span.name === 'LINE push');
  await until(() => pushes().length >= 2);
  expect(pushes()).toHaveLength(2);
  for (const push of pushes()) expect(rootOf(push).parentSpanId).toBe(spanId);
});

/** A change of an attribute by somebody who traces: the id of the trace and of the writer's span. */
async function moveTraced(city: string, number: number): Promise<{ traceId: string; spanId: string }> {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  await inTransaction(stack.database.db, async (tx) => {
    await tx.execute(sql`select set_config('app.traceparent', ${`00-${traceId}-${spanId}-01`}, true)`);
    await tx.execute(
      sql`update line_user set attributes = attributes || ${JSON.stringify({ city })}::jsonb where user_id = ${nthUserId('e2', number)}`,
    );
  });
  return { traceId, spanId };
}

test("the trace of whoever wrote the change goes on, through every hop and a scheduler, to LINE's request id, now and later", async () => {
  await stack.apps.get('trigger-worker')?.stop();
  await stack.restart('trigger-worker', { INLINE_PROFILE: 'false' }); // what is due goes by cron-scheduler and its queue
  const { traceId, spanId } = await moveTraced('京都', 6);
  expect(await receiptsOf([6], 2)).toEqual(['later', 'now']);

  const pushes = () => collector.spans.filter((span) => span.traceId === traceId && span.name === 'LINE push');
  await until(() => pushes().length >= 2);
  const requestIds = (await stack.line.receiptsSince(0))
    .filter(({ user }) => user === nthUserId('e2', 6))
    .map(({ requestId }) => requestId);
  expect(
    pushes()
      .map(({ attributes }) => attributes['line.request_id'])
      .toSorted(),
  ).toEqual(requestIds.toSorted());
  for (const push of pushes()) expect(rootOf(push).parentSpanId).toBe(spanId);

  // Each decision and request is linked to the message that led to it, whose trace is that of whoever announced it.
  const led = (): string[] => [
    ...new Set(
      pushes()
        .flatMap((push) => chain(push))
        .map(({ service, name }) => `${service}: ${name}`),
    ),
  ];
  const hops = [
    'pg-listener: announce attribute_changed',
    'pg-listener: publish attribute_changed',
    'trigger-worker: process attribute_changed',
    'trigger-worker: decide rule',
    'cron-scheduler: publish scheduled_action_fire',
    'trigger-worker: process scheduled_action_fire',
    'trigger-worker: decide scheduled action',
    'trigger-worker: publish action_execute',
    'line-delivery: process action_execute',
    'line-delivery: LINE push',
  ];
  await until(() => hops.every((hop) => led().includes(hop)));
  expect(led()).toEqual(expect.arrayContaining(hops));
  await stack.apps.get('trigger-worker')?.stop();
  await stack.restart('trigger-worker');
});

/** A span and all that led to it, by parents and links. */
function chain(span: Span): Span[] {
  const before = collector.spans.filter(({ spanId }) => spanId === span.parentSpanId || span.links.includes(spanId));
  return [span, ...before.flatMap(chain)];
}

const servicesOf = (span: Span | undefined) =>
  new Set(collector.spans.filter(({ traceId }) => traceId === span?.traceId).map(({ service }) => service));

function rootOf(span: Span): Span {
  const parent = collector.spans.find(({ spanId }) => spanId === span.parentSpanId);
  return parent === undefined ? span : rootOf(parent);
}

test('what happens while an app is away is done when it is back, each once', async () => {
  const { apps } = stack;
  await apps.get('pg-listener')?.stop();
  await apps.get('line-delivery')?.stop();
  const numbers = [1, 2, 3, 4, 5];

  await moveTo('大阪', numbers);
  await stack.restart('pg-listener');
  await stack.restart('line-delivery');

  expect(await receiptsOf(numbers, 10)).toEqual([...Array(5).fill('later'), ...Array(5).fill('now')]);
});

test.for([
  ['queue', 'trigger-worker', { INLINE_PROFILE: 'false' }, 30],
  ['inline', 'cron-scheduler', { QUEUE_PROFILE: 'false' }, 35],
] as const)('the %s profile alone carries a waiting action to its end', async ([profile, app, settings, first]) => {
  const numbers = [first, first + 1, first + 2];
  await stack.apps.get(app)?.stop();
  await stack.restart(app, settings);

  await moveTo('横浜', numbers);
  expect(await receiptsOf(numbers, 6)).toHaveLength(6);
  await stack.apps.get(app)?.stop();
  await stack.restart(app);

  const { rows } = await stack.database.db.$client.query(
    'select distinct claimed_via from scheduled_action where user_id = any($1)',
    [numbers.map((n) => nthUserId('e2', n))],
  );
  expect(rows).toEqual([{ claimed_via: profile }]);
});

test('a message to somebody who does not follow is not sent, and the history says why', async () => {
  const { db } = stack.database;
  await db.$client.query('update line_user set is_following = false where user_id = $1', [nthUserId('e2', 20)]);
  await moveTo('東京', [20, 21]);
  expect(await receiptsOf([21], 2)).toHaveLength(2);

  const { rows } = await db.$client.query('select decision, reason_code from trigger_log where user_id = $1', [
    nthUserId('e2', 20),
  ]);
  expect(rows).toEqual(Array(2).fill({ decision: 'suppressed', reason_code: 'user_not_following' }));
  expect(await receiptsOf([20], 0)).toEqual([]);
});

test('a campaign whose dispatcher dies and whose sender is away at its time is sent when they are back, to each once', async () => {
  const { db } = stack.database;
  const numbers = Array.from({ length: 10 }, (_, at) => 40 + at);
  const audienceId = await createAudience(db, tenant, { name: 'e2e' });
  await addAudienceMembers(db, tenant, { audienceId, userIds: numbers.map((n) => nthUserId('e2', n)) });
  const messages = [{ type: 'text' as const, text: '春 [[lid:spring]]' }];
  const campaign = await createCampaign(db, tenant, { name: 'spring', castType: 'multicast', audienceId, messages });
  const statusOf = async () =>
    (await db.$client.query('select status from campaign where id = $1', [campaign.id])).rows[0].status;
  await stack.apps.get('line-delivery')?.stop();

  await scheduleAsSeen(db, tenant, { campaign, startDate: new Date().toISOString() });
  await expect.poll(statusOf, { timeout: 45_000 }).toBe('sending');
  stack.apps.get('campaign-dispatcher')?.child.kill('SIGKILL');
  await stack.restart('line-delivery');
  await stack.restart('campaign-dispatcher');

  expect(await receiptsOf(numbers, 10)).toEqual(Array(10).fill('spring'));
  await expect.poll(statusOf, { timeout: 45_000 }).toBe('sent');
});

test('every delivery ended accepted with the request id that LINE gave it', async () => {
  const { rows } = await stack.database.db.$client.query<{ status: string; id: string; key: string }>(
    'select status, line_request_id as id, retry_key as key from delivery',
  );
  const receipts = new Map((await stack.line.receiptsSince(0)).map((receipt) => [receipt.retryKey, receipt.requestId]));
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).toMatchObject({ status: 'accepted', id: receipts.get(row.key) });
});
