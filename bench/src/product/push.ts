import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { actionExecute, MAX_TICKETS_PER_MESSAGE, type Ticket } from '@dueline/contracts';
import { column, inTransaction, sql } from '@dueline/db';
import type { LineSimulator } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { createLineClient } from '@dueline/line-client';
import { connectTo } from './broker.ts';
import type { Product } from './product.ts';
import { PUSH_ACCOUNTS, pushOf, tokenOf } from './push-line.ts';

/** Connections and requests at once, of each way to send; line-delivery's own default is as many. */
export const AT_ONCE = 100;
const POLL_MS = 50;
const TIMEOUT_MS = 300_000;

/** A client that only writes bytes and looks at the first line of the answer: what LINE's side can do. */
export async function pushBare(line: LineSimulator, count: number): Promise<number> {
  let sent = 0;
  let answered = 0;
  const nextRequest = () => {
    const { account, body } = pushOf(sent++);
    return (
      `POST /v2/bot/message/push HTTP/1.1\r\nhost: line\r\nauthorization: Bearer ${tokenOf(account)}\r\n` +
      `content-type: application/json\r\nx-line-retry-key: ${randomUUID()}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    );
  };
  const connection = async () => {
    const socket = connect(Number(new URL(line.apiUrl).port), '127.0.0.1').setNoDelay(true);
    await once(socket, 'connect');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.on('error', reject);
    socket.on('data', (data) => {
      // One answer fits one segment on loopback, and no request is sent before the last one's answer.
      if (!data.toString('latin1').startsWith('HTTP/1.1 200')) return reject(new Error('LINE refused a push'));
      answered += 1;
      if (sent >= count) resolve();
      else socket.write(nextRequest());
    });
    socket.write(nextRequest());
    await promise;
    socket.destroy();
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, connection));
  return answered;
}

/** line-client alone, as line-delivery calls it. @returns How many LINE accepted. */
export async function pushByClient(line: LineSimulator, count: number): Promise<number> {
  const client = createLineClient({ baseUrl: line.apiUrl });
  let sent = 0;
  let accepted = 0;
  const sender = async () => {
    while (sent < count) {
      const { account, body } = pushOf(sent++);
      const answer = await client.push({ channelAccessToken: tokenOf(account), retryKey: randomUUID(), body });
      if (answer.kind === 'accepted') accepted += 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  client.close();
  return accepted;
}

/** Planned and announced deliveries; what would announce them is not a part of what is measured. @returns Their tickets, by account. */
export async function planPushes({ database, accounts }: Product, count: number): Promise<Ticket[][]> {
  const tickets: Ticket[][] = accounts.map(() => []);
  const BATCH = 5_000;
  for (let first = 0; first < count; first += BATCH) {
    const pushes = Array.from({ length: Math.min(BATCH, count - first) }, (_, n) => pushOf(first + n));
    const col = (read: (push: (typeof pushes)[number]) => string, type: 'bigint' | 'text') =>
      column(pushes.map(read), type);
    const rows = await inTransaction(database.db, async (tx) => {
      await tx.execute(sql`set local session_replication_role = replica`);
      return tx.execute<{ id: string; fence: string; line_oa_id: string }>(sql`
        insert into delivery (organization_id, line_oa_id, kind, logical_id, endpoint, user_id, retry_key, body, body_sha256, deliver_until, published_at)
        select organization_id, line_oa_id, 'action', gen_random_uuid(), 'push', user_id, gen_random_uuid(), body, body_sha256,
               app_now() + interval '1 day', clock_timestamp()
          from unnest(${col(({ account }) => accounts[account]?.organizationId ?? '', 'bigint')},
                      ${col(({ account }) => accounts[account]?.lineOaId ?? '', 'bigint')}, ${col(({ userId }) => userId, 'text')},
                      ${col(({ body }) => body, 'text')}, ${col(({ body }) => createHash('sha256').update(body).digest('hex'), 'text')})
            as push (organization_id, line_oa_id, user_id, body, body_sha256)
        returning id, fence, line_oa_id`);
    });
    for (const { id, fence, line_oa_id } of rows.rows)
      tickets[accounts.findIndex(({ lineOaId }) => lineOaId === line_oa_id)]?.push({ id, fence });
  }
  await database.db.$client.query('vacuum analyze delivery');
  return tickets;
}

/** Hands the tickets to line-delivery, the accounts by turns. */
export async function publishPushes(product: Product, tickets: readonly (readonly Ticket[])[]): Promise<void> {
  const broker = await connectTo(product);
  const messages = [];
  const longest = Math.max(...tickets.map(({ length }) => length));
  for (let from = 0; from < longest; from += MAX_TICKETS_PER_MESSAGE)
    for (let account = 0; account < PUSH_ACCOUNTS; account += 1) {
      const { organizationId, lineOaId } = product.accounts[account] ?? { organizationId: '', lineOaId: '' };
      const own = tickets[account]?.slice(from, from + MAX_TICKETS_PER_MESSAGE) ?? [];
      if (own.length > 0) messages.push({ tenant: { organizationId, lineOaId }, data: { tickets: own } });
    }
  const results = await broker.publish(actionExecute, messages);
  await broker.close();
  if (results.some(({ ok }) => !ok)) throw new Error('a message was not confirmed');
}

/** @returns How many were accepted, once nothing is planned or being sent. */
export async function untilSent({ database }: Product): Promise<number> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    const { rows } = await database.db.$client.query<{ is_open: boolean }>(
      `select exists (select from delivery where status = 'planned') or exists (select from delivery where status = 'sending') as is_open`,
    );
    if (rows[0]?.is_open === false) break;
    if (performance.now() > deadline) throw new Error(`not everything was sent in ${TIMEOUT_MS} ms`);
    await sleep(POLL_MS);
  }
  const { rows } = await database.db.$client.query<{ count: number }>(
    `select count(*)::int as count from delivery where status = 'accepted'`,
  );
  return rows[0]?.count ?? 0;
}
