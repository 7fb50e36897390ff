import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createLineOa, createOrganization, renewWebhookSecret } from '@dueline/accounts';
import type { Tenant } from '@dueline/contracts';
import { inTransaction } from '@dueline/db';
import { columnOf } from '@dueline/db/testing';
import { type AppName, type Stack, startStack } from '@dueline/demo';
import { nthUserId } from '@dueline/line-simulator';
import { confirmEnrolment, createRule, listEnrolments, startEnrolment } from '@dueline/trigger-rules';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allKillsOf } from './kill/cases.ts';
import { SETTINGS, untilReached } from './kill/stage.ts';
import { serviceEnvironment } from './support.ts';

const PEOPLE = 40;
const CHANNEL = {
  channelId: '3000000021',
  channelAccessToken: 'rules-token',
  users: [{ prefix: 'ce', count: PEOPLE }],
};
/** Bound a failure only. */
const LIMIT_MS = 300_000;
const PATIENCE = { timeout: 60_000, interval: 100 };
const person = (n: number): string => nthUserId('ce', n);

let stack: Stack;
let tenant: Tenant;
let secret: string;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  receiver = await startReceiver();
  const appEnv = { ...SETTINGS, WEBHOOK_ALLOW_LOOPBACK: 'true' };
  stack = await startStack({ env: serviceEnvironment(), channels: [CHANNEL], tell: () => undefined, appEnv });
  const { secretsKey } = stack;
  const { db } = stack.database;
  const organizationId = await createOrganization(db, { name: 'rules' });
  tenant = await createLineOa(db, { organizationId, ...CHANNEL, name: 'rules', timezone: 'Asia/Tokyo', secretsKey });
  const people = Array.from({ length: PEOPLE }, (_, n) => person(n));
  await db.$client.query(
    'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
    [tenant.organizationId, tenant.lineOaId, people],
  );
  secret = await inTransaction(db, (tx) => renewWebhookSecret(tx, tenant, { secretsKey, by: 'test', reason: null }));
  await createRule(db, tenant, {
    ...{ name: 'tell the shop', sourceType: 'attribute_changed', sourceConfig: { attribute: 'tier', to: 'gold' } },
    ...{ actionType: 'call_webhook', actionConfig: { url: receiver.url }, frequency: 'every_time' },
  });
}, LIMIT_MS);
afterAll(async () => {
  await stack?.stop();
  await receiver?.close();
}, LIMIT_MS);

/** A service that takes webhooks, and remembers what it was sent under which id. */
async function startReceiver() {
  const bodies = new Map<string, string[]>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const id = String(request.headers['webhook-id']);
    bodies.set(id, [...(bodies.get(id) ?? []), Buffer.concat(chunks).toString('utf8')]);
    response.writeHead(200).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    bodies,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    close: () => {
      server.closeAllConnections();
      return new Promise((closed) => server.close(closed));
    },
  };
}

const rows = (query: string) => columnOf(stack.database.db, query);

/** Gives the app work and kills it at the point, then starts it again or a replica of another name. */
async function dieAt(
  app: AppName,
  [point, recovery]: ReturnType<typeof allKillsOf>[number],
  { crashAt = point, work }: { crashAt?: string; work: () => Promise<unknown> },
): Promise<void> {
  await stack.apps.get(app)?.stop();
  await work();
  const instance = `${point}-${recovery}`;
  const dying = await stack.start(app, { INSTANCE_NAME: instance, CRASH_AT: crashAt });
  await untilReached(dying, { point, instance });
  await dying.gone;
  expect(dying.child.signalCode).toBe('SIGKILL');
  await stack.restart(app, { INSTANCE_NAME: recovery === 'restarted' ? instance : `${instance}-2` });
}

let changed = 0;

/** Once with each way to recover. */
const WEBHOOK_KILLS = allKillsOf('webhooks').filter(
  ([point, recovery]) => (point === 'webhook.answered') === (recovery === 'restarted'),
);

test.for(WEBHOOK_KILLS)(
  'killed at %s and %s: each webhook is at its receiver, the same whenever it comes, under an id that comes for nothing else',
  { timeout: LIMIT_MS },
  async (kill) => {
    receiver.bodies.clear();
    const people = [changed, changed + 1, changed + 2].map(person);
    changed += people.length;
    const change = `update line_user set attributes = attributes || '{"tier": "gold"}' where user_id = any($1)`;
    await dieAt('line-delivery', kill, { work: () => stack.database.db.$client.query(change, [people]) });
    const accepted = `select count(*) from delivery where status = 'accepted'`;
    await expect.poll(() => rows(accepted), PATIENCE).toEqual([String(changed)]);
    expect(await rows('select count(*) from delivery')).toEqual([String(changed)]);

    const received = [...receiver.bodies.values()];
    expect(received.map(([body = '{}']) => JSON.parse(body).userId).sort()).toEqual(people.sort());
    for (const again of received) expect(new Set(again).size).toBe(1);
    if (kill[0] === 'webhook.answered') expect(received.some(({ length }) => length > 1)).toBe(true);
  },
);

test('the secret of webhooks stands in no log', async () => {
  const files = await readdir(stack.logFolder);
  const logs = await Promise.all(files.map((file) => readFile(join(stack.logFolder, file), 'utf8')));
  expect(logs.join('').length).toBeGreaterThan(0);
  for (const log of logs) expect(log).not.toContain(secret.slice('whsec_'.length));
});

/** The second page of twenty: what entered before is committed, what is in hand is not. */
const SECOND_PAGE = { perMinute: 240, crashAt: 'enrol.deciding:2' };

test.for(allKillsOf('enrolment').filter(([, recovery]) => recovery === 'replaced'))(
  'killed at %s and %s, in the middle of those who match a rule: each enters it once, and the counts add up',
  { timeout: LIMIT_MS },
  async (kill) => {
    const { db } = stack.database;
    const everybody = Array.from({ length: PEOPLE }, (_, n) => person(n));
    await db.$client.query(`update line_user set attributes = attributes || '{"vip": "yes"}'`);
    await expect.poll(() => rows('select count(*) from event_outbox'), PATIENCE).toEqual(['0']);
    const ruleId = await createRule(db, tenant, {
      ...{ name: 'vip', sourceType: 'attribute_changed', sourceConfig: { attribute: 'vip', to: 'yes' } },
      ...{ actionType: 'send_message', actionConfig: { messages: [{ type: 'text', text: 'welcome [[lid:vip]]' }] } },
      frequency: 'every_time', // the limits of the rule shall not be what keeps anybody from entering twice
    });
    const { perMinute, crashAt } = SECOND_PAGE;
    const id = await startEnrolment(db, tenant, { ruleId, perMinute, startedBy: 'test' });
    const enrolment = async () => (await listEnrolments(db, tenant)).find((one) => one.id === id);
    await expect.poll(async () => (await enrolment())?.status, PATIENCE).toBe('counted');
    await dieAt('trigger-worker', kill, { crashAt, work: () => confirmEnrolment(db, tenant, id) });

    await expect.poll(async () => (await enrolment())?.status, PATIENCE).toBe('done');
    expect(await enrolment()).toMatchObject({ examined: PEOPLE, matched: PEOPLE, entered: PEOPLE, reasonCode: null });
    const received = async () =>
      (await stack.line.receiptsSince(0)).filter(({ lid }) => lid === 'vip').map(({ user }) => user);
    await expect.poll(async () => (await received()).length, PATIENCE).toBeGreaterThanOrEqual(PEOPLE);
    expect((await received()).sort()).toEqual(everybody.sort());
    expect(
      await rows(`select distinct trigger_on || ' ' || decision || ' ' || count(*) from trigger_log
                        where trigger_rule_id = ${ruleId} group by trigger_on, decision`),
    ).toEqual([`enrolment fired ${PEOPLE}`]);
  },
);
