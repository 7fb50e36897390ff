import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getWebhookSecret, renewWebhookSecret } from '@dueline/accounts';
import type { Tenant, Ticket } from '@dueline/contracts';
import { type Db, inTransaction } from '@dueline/db';
import { columnOf, insertTenant, lineUserId, testDb } from '@dueline/db/testing';
import { createWebhookDeliveries } from '@dueline/deliveries';
import { gather } from '@dueline/runtime';
import { createWebhookClient } from '@dueline/webhook-client';
import { onTestFinished } from 'vitest';
import { callWebhooks, type WebhookDeps } from '../src/call-webhooks.ts';
import { createInHand } from '../src/in-hand.ts';
import { settleAttempts } from '../src/settle.ts';
import { silent } from './limits/support.ts';

/** A limit for what is expected to take milliseconds. */
const TIMEOUT_MS = 20_000;

interface GotWebhook {
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface WebhookStage {
  readonly db: Db;
  readonly tenant: Tenant;
  readonly url: string;
  readonly secret: string;
  readonly secretsKey: Buffer;
  /** What the receiver got, in order. */
  readonly got: readonly GotWebhook[];
  /** The next answers of the receiver; afterwards 200. `hold`: when it is called, which ends it with 200. */
  answer(...statuses: readonly number[]): void;
  hold(): () => void;
  /** Decides these webhooks, and returns their tickets. */
  decide(count: number, changes?: { url?: string }): Promise<Ticket[]>;
  /** One message of tickets, until every attempt of it is settled unless told otherwise. */
  execute(tickets: readonly Ticket[], parts?: Partial<WebhookDeps> & { wait?: boolean }): Promise<unknown>;
  /** All that is planned and due. */
  due(): Promise<Ticket[]>;
  /** Status, reason and outcomes of the attempts, in the order of the decisions. */
  story(): Promise<(string | null)[]>;
}

/** An account with a webhook secret, and a receiver on this machine. */
export async function webhookStage(): Promise<WebhookStage> {
  const { db, [Symbol.asyncDispose]: drop } = await testDb();
  onTestFinished(() => drop());
  const tenant = await insertTenant(db);
  const secretsKey = randomBytes(32);
  const signed = { by: 'test', reason: null };
  const secret = await inTransaction(db, (tx) => renewWebhookSecret(tx, tenant, { secretsKey, ...signed }));
  const receiver = await startReceiver();
  const settle = gather((all: Parameters<typeof settleAttempts>[1]) => settleAttempts(db, all), { maxSize: 50 });
  const deps = {
    ...{ db, settle, log: silent, mostOfAccount: 100, onSettled: () => undefined },
    call: createWebhookClient({ timeoutMs: TIMEOUT_MS, allowLoopback: true }),
    secretOf: (lineOaId: string) => getWebhookSecret(db, { lineOaId, secretsKey }),
    start: { claimedBy: 'line-delivery/test:1', leaseSeconds: 60, settleSeconds: 0 },
  };
  return {
    ...{ db, tenant, secret, secretsKey },
    ...receiver,
    decide: (count, { url = receiver.url } = {}) => decide(db, tenant, { count, url }),
    execute: async (tickets, { wait = true, ...parts } = {}) => {
      const inHand = createInHand(100);
      const message = { id: randomUUID(), tenant, data: { tickets: [...tickets] }, deliveryCount: 0, publishedAt: '' };
      const { signal } = new AbortController();
      const outcome = await callWebhooks({ ...deps, inHand, ...parts })(message, { signal });
      if (wait) await inHand.drain();
      return outcome;
    },
    due: async () =>
      (
        await db.$client.query<Ticket>(
          `select id, fence from delivery where status = 'planned' and next_attempt_at <= app_now() order by id`,
        )
      ).rows,
    story: () =>
      columnOf(
        db,
        `select concat_ws(' ', status, reason_code, (select string_agg(coalesce(outcome, '?') || coalesce(http_status::text, ''), ',' order by attempt_no)
                                                       from delivery_attempt where delivery_id = id)) from delivery order by id`,
      ),
  };
}

async function startReceiver(): Promise<Pick<WebhookStage, 'url' | 'got' | 'answer' | 'hold'>> {
  const got: GotWebhook[] = [];
  const answers: number[] = [];
  let held: Promise<void> = Promise.resolve();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    got.push({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') });
    const status = answers.shift() ?? 200;
    await held;
    response.writeHead(status).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    got,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    answer: (...statuses) => void answers.push(...statuses),
    hold: () => {
      const holding = Promise.withResolvers<void>();
      held = holding.promise;
      return holding.resolve;
    },
  };
}

async function decide(db: Db, tenant: Tenant, { count, url }: { count: number; url: string }): Promise<Ticket[]> {
  const [channelId] = await columnOf(db, 'select channel_id from line_oa where id = $1', [tenant.lineOaId]);
  const calls = Array.from({ length: count }, (_, n) => ({
    ...{ ...tenant, url, channelId: String(channelId), kind: 'event' as const, epoch: 1 },
    ...{ logicalId: `${randomUUID()}:${n}`, userId: lineUserId(n), data: { tier: 'gold', name: 'สมชาย 🎁' } },
    ...{ triggerRuleId: null, scheduledActionId: null, eventId: null, rootId: null, traceparent: undefined },
  }));
  return inTransaction(db, (tx) => createWebhookDeliveries(tx, calls));
}
