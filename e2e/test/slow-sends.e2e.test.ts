import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLineOa, createOrganization } from '@dueline/accounts';
import { dueCampaign } from '@dueline/campaigns/testing';
import { type Queue, type Tenant, type Tickets, tickets } from '@dueline/contracts';
import { type Stack, startStack } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { nthUserId, type ReceiptRow } from '@dueline/line-simulator';
import { missingServers, type PrivateServices, startKillable } from '@dueline/local-services';
import { connectBroker, DONE, declareTopology } from '@dueline/mq';
import { addAudienceMembers, createAudience } from '@dueline/recipients';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ROOT } from './support.ts';

/** RabbitMQ's half an hour, made short. */
const PATIENCE_MS = 4_000;
const PEOPLE = 4_500;
const CHANNEL = { channelId: '3000000013', channelAccessToken: 'slow-token', users: [{ prefix: '5a', count: PEOPLE }] };
const PLENTY_MS = 120_000;
/** Beyond the 20 s that an app takes at most to end what it holds. */
const STOP_MS = 40_000;
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const missing = missingServers(process.env);
const reason = missing.length > 0 ? ` (not installed here: ${missing.join(', ')})` : '';

describe.skipIf(missing.length > 0)(`a LINE that is slower than the broker is patient${reason}`, () => {
  let services: PrivateServices;
  let stack: Stack;
  let tenant: Tenant;
  let seq = 0;

  beforeAll(async () => {
    const options = { stateFolder: join(ROOT, '.dueline'), env: process.env };
    services = await startKillable({ ...options, acknowledgementTimeoutMs: PATIENCE_MS });
    const { databaseUrl, amqpUrl, amqpManagementUrl, redisUrl } = services.urls;
    const urls = { DATABASE_URL: databaseUrl, AMQP_URL: amqpUrl, AMQP_MANAGEMENT_URL: amqpManagementUrl };
    stack = await startStack({
      env: { ...process.env, ...urls, REDIS_URL: redisUrl, DUELINE_SERVICES: 'environment' },
      channels: [CHANNEL],
      tell: () => undefined,
      appEnv: { ATTEMPT_DEADLINE_SECONDS: '30', SEND_CONCURRENCY: '3', CAMPAIGN_STALE_SECONDS: '60' },
    });
    const { db } = stack.database;
    const organizationId = await createOrganization(db, { name: 'slow' });
    const account = { organizationId, ...CHANNEL, name: 'slow', timezone: 'Asia/Tokyo', secretsKey: stack.secretsKey };
    tenant = await createLineOa(db, account);
    await db.$client.query(
      'insert into line_user (organization_id, line_oa_id, user_id) select $1, $2, unnest($3::text[])',
      [tenant.organizationId, tenant.lineOaId, people(PEOPLE)],
    );
  });
  afterAll(async () => {
    await stack?.stop();
    await services?.stop();
  });
  beforeEach(async () => {
    seq = (await stack.line.receiptsSince(0)).at(-1)?.seq ?? 0;
  });

  const people = (count: number) => Array.from({ length: count }, (_, n) => nthUserId('5a', n));

  /** From here on LINE takes so long before it accepts. */
  async function slowLine(ms: number): Promise<void> {
    const rules = [
      { id: 'slow', match: { endpoint: 'multicast' }, effect: { type: 'latency', ms }, phase: 'beforeAccept' },
    ];
    const response = await fetch(`${stack.line.controlUrl}/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ seed: 1, rules }),
    });
    expect(response.status).toBe(200);
  }

  async function campaignTo(count: number): Promise<string> {
    const { db } = stack.database;
    const audienceId = await createAudience(db, tenant, { name: 'friends' });
    await addAudienceMembers(db, tenant, { audienceId, userIds: people(count) });
    return (await dueCampaign(db, tenant, { audienceId, text: `ゆっくり 🐌 [[lid:to-${count}]]` })).id;
  }

  const column = async (statement: string, id: string) =>
    (await stack.database.db.$client.query({ text: statement, values: [id], rowMode: 'array' })).rows.flat();
  const statusOf = (id: string) => column('select status from campaign where id = $1', id);
  const accepted = async (id: string) =>
    Number((await column("select count(*) from delivery where campaign_id = $1 and status = 'accepted'", id))[0]);
  const received = async (): Promise<ReceiptRow[]> => stack.line.receiptsSince(seq);
  const requests = async (id: string) =>
    column(
      'select attempt_no from delivery_attempt join delivery on delivery.id = delivery_id where campaign_id = $1',
      id,
    );

  test('a consumer that outlasts the patience of the broker loses its channel, gets the message again, and is not stuck [SEM-099]', async () => {
    const queue: Queue<Tickets> = { name: 'patience', exchange: 'dueline.commands', version: 1, data: tickets };
    const place = { url: stack.amqpUrl, managementUrl: stack.amqpManagementUrl };
    await declareTopology({ ...place, queues: [queue], log: silent });
    const broker = connectBroker({ url: stack.amqpUrl, appId: 'slow', log: silent, queues: [queue] });
    onTestFinished(() => broker.close());
    await broker.ready();
    const counts: number[] = [];
    const handler = async ({ deliveryCount }: { deliveryCount: number }) => {
      counts.push(deliveryCount);
      if (deliveryCount === 0 && counts.length === 1) await sleep(3 * PATIENCE_MS);
      return DONE;
    };
    broker.consume(queue, handler, { concurrency: 1, handlerTimeoutMs: 5 * PATIENCE_MS });
    const message = { tenant, data: { tickets: [{ id: '1', fence: '1' }] } };
    await broker.publish(queue, [message]);
    await expect.poll(() => counts, { timeout: PLENTY_MS }).toEqual([0, 1]);
    await broker.ready();
    await broker.publish(queue, [message]);
    await expect.poll(() => counts, { timeout: PLENTY_MS }).toEqual([0, 1, 0]);
  });

  test('a campaign whose requests outlast it is sent once all the same: what is at LINE is acknowledged before [SEM-099]', async () => {
    await slowLine(3 * PATIENCE_MS);
    const id = await campaignTo(1_250);
    await expect.poll(() => statusOf(id), { timeout: PLENTY_MS }).toEqual(['sent']);
    expect((await received()).map(({ user }) => user).sort()).toEqual(people(1_250).sort());
    expect(await requests(id)).toEqual([1, 1, 1]);
    expect(await readFile(join(stack.logFolder, 'line-delivery.log'), 'utf8')).not.toContain('subscription lost');
  });

  test('a sender that is stopped in the middle of a campaign leaves it unfinished, and the next one finishes it, to each once [SEM-125]', async () => {
    await stack.apps.get('line-delivery')?.stop();
    await stack.restart('line-delivery', { SEND_CONCURRENCY: '1' }); // so that a graceful stop cannot finish what it holds
    await slowLine(PATIENCE_MS);
    const id = await campaignTo(PEOPLE);
    await expect.poll(() => accepted(id), { timeout: PLENTY_MS }).toBeGreaterThanOrEqual(3);
    await stack.apps.get('line-delivery')?.stop(STOP_MS);
    const before = await accepted(id);
    expect(before).toBeLessThan(PEOPLE / 500);
    expect(['sending', 'scheduled']).toContain((await statusOf(id))[0]);

    await slowLine(50);
    await stack.restart('line-delivery');
    await expect.poll(() => statusOf(id), { timeout: PLENTY_MS }).toEqual(['sent']);
    expect((await received()).map(({ user }) => user).sort()).toEqual(people(PEOPLE).sort());
    expect(await stack.line.violations()).toEqual([]);
  });
});
