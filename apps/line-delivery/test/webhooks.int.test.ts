import { checkInvariants } from '@dueline/db';
import { columnOf, lineUserId, moveProductTime } from '@dueline/db/testing';
import { DELIVERY_INVARIANTS, reapEarlierBoots } from '@dueline/deliveries';
import { signatureOf } from '@dueline/webhook-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type WebhookStage, webhookStage } from './webhook-stage.ts';

const LIMITS = { leaseOverSeconds: 600, silentSeconds: 9_000, overdueSeconds: 900_000, historyDays: 31 };
const HOUR = 3_600;

let stage: WebhookStage;
beforeEach(async () => {
  stage = await webhookStage();
});
afterEach(async () => {
  const checks = await checkInvariants(stage.db, DELIVERY_INVARIANTS, LIMITS);
  expect(checks.filter(({ violations }) => violations > 0)).toEqual([]);
});

const ids = () => stage.got.map(({ headers }) => headers['webhook-id']);
const keys = () => columnOf(stage.db, 'select retry_key::text from delivery order by id');
const attention = () =>
  columnOf(stage.db, `select concat_ws(' ', kind, reason_code, status) from attention_item order by id`);

test('a decided webhook reaches its receiver once, signed with the secret of its account, whatever comes of its ticket', async () => {
  const tickets = await stage.decide(1);
  await stage.execute(tickets);
  expect(await stage.execute(tickets)).toMatchObject({ outcome: 'discarded' });
  expect(await stage.story()).toEqual(['accepted accepted200']);
  expect(ids()).toEqual(await keys());
  const [{ headers, body } = { headers: {}, body: '' }] = stage.got;
  const [channelId] = await columnOf(stage.db, 'select channel_id from line_oa');
  expect(JSON.parse(body)).toEqual({
    ...{ type: 'rule.fired', channelId, userId: lineUserId(0), ruleId: null, eventId: null, actionId: null },
    data: { tier: 'gold', name: 'สมชาย 🎁' },
  });
  const [id, timestamp] = [String(headers['webhook-id']), String(headers['webhook-timestamp'])];
  expect(headers['webhook-signature']).toBe(signatureOf({ id, timestamp, body }, stage.secret));
});

test('a receiver that fails is asked again, ever more rarely, with the same bytes under the same id, until it takes it', async () => {
  stage.answer(500, 503, 429, 401);
  await stage.execute(await stage.decide(1));
  for (let again = 0; again < 4; again += 1) {
    await moveProductTime(stage.db, HOUR);
    await stage.execute(await stage.due());
  }
  expect(await stage.story()).toEqual(['accepted ambiguous500,ambiguous503,throttled429,auth401,accepted200']);
  expect(new Set(ids())).toEqual(new Set(await keys()));
  expect(new Set(stage.got.map(({ body }) => body)).size).toBe(1);
  expect(await attention()).toEqual([]);
});

test('a receiver that refuses is not asked again, and a person hears of it, whatever came before', async () => {
  stage.answer(500, 410);
  await stage.execute(await stage.decide(1));
  await moveProductTime(stage.db, HOUR);
  await stage.execute(await stage.due());
  expect(await stage.story()).toEqual(['refused refused ambiguous500,refused410']);
  expect(await attention()).toEqual(['delivery_refused webhook_refused open']);
});

test('a webhook to a forbidden address ends without a request, and a person hears of it', async () => {
  await stage.execute(await stage.decide(1, { url: 'https://169.254.169.254/latest/meta-data' }));
  expect(await stage.story()).toEqual(['refused refused refused']);
  expect(await columnOf(stage.db, 'select detail from delivery_attempt')).toEqual([
    'it is not called: its address is not public',
  ]);
  expect(await attention()).toEqual(['delivery_refused webhook_refused open']);
});

test('without a secret nothing is sent; the webhook waits until there is one', async () => {
  const sealed = await columnOf(stage.db, 'select webhook_secret_sealed from line_oa');
  await stage.db.$client.query('update line_oa set webhook_secret_sealed = null');
  await stage.execute(await stage.decide(1));
  expect(await stage.story()).toEqual(['planned auth auth']);
  expect(stage.got).toEqual([]);
  await stage.db.$client.query('update line_oa set webhook_secret_sealed = $1', sealed);
  await moveProductTime(stage.db, HOUR);
  await stage.execute(await stage.due());
  expect(await stage.story()).toEqual(['accepted auth,accepted200']);
});

test('whose process died after the request is asked again by its id: at least once, and once for a receiver that looks at ids', async () => {
  const release = stage.hold();
  await stage.execute(await stage.decide(1), { wait: false });
  await expect.poll(() => stage.got.length, { timeout: 20_000 }).toBe(1);
  await reapEarlierBoots(stage.db, { claimedBy: 'line-delivery/test:2' });
  release();
  await expect
    .poll(() => columnOf(stage.db, 'select outcome from delivery_attempt'), { timeout: 20_000 })
    .toEqual(['accepted']);
  expect(await stage.story()).toEqual(['accepted accepted200']); // the late answer was proof enough

  const [ticket] = await stage.decide(1);
  const dead = { settle: () => new Promise<boolean>(() => undefined), wait: false };
  await stage.execute(ticket === undefined ? [] : [ticket], dead);
  await expect.poll(() => stage.got.length, { timeout: 20_000 }).toBe(2);
  await reapEarlierBoots(stage.db, { claimedBy: 'line-delivery/test:2' });
  await stage.execute(await stage.due());
  expect((await stage.story())[1]).toBe('accepted ?,accepted200');
  expect(ids().slice(1)).toEqual([(await keys())[1], (await keys())[1]]);
});

test('an account whose receiver is slow takes its share of the slots only: the rest comes again', async () => {
  const tickets = await stage.decide(5);
  expect(await stage.execute(tickets, { mostOfAccount: 2 })).toEqual({
    outcome: 'done',
    detail: { started: 2, putBack: 3 },
  });
  expect(await stage.story()).toEqual([
    'accepted accepted200',
    'accepted accepted200',
    'planned',
    'planned',
    'planned',
  ]);
  await moveProductTime(stage.db, 2);
  await stage.execute(await stage.due());
  expect(new Set(ids())).toEqual(new Set(await keys()));
  expect(stage.got).toHaveLength(5);
});
