import { actionExecute } from '@dueline/contracts';
import { type Db, inTransaction, sql } from '@dueline/db';
import { purgeQueues } from '@dueline/demo';
import { sleep } from '@dueline/kernel';
import { DONE } from '@dueline/mq';
import { connectTo } from './broker.ts';
import { PEOPLE, type Product, userOf } from './product.ts';

/** People of all accounts, each of whom changes once. */
export const CHANGES_AT_MOST = 2 * PEOPLE;
export const ACCOUNTS = 2;

/** Everybody lives elsewhere again, without a word to anybody, and nothing of earlier rounds is left. */
export async function clearEvents(product: Product): Promise<void> {
  const { db } = product.database;
  await purgeQueues(product.place);
  await db.$client.query('truncate event_outbox, event_archive, attribute_change, trigger_log, delivery cascade');
  await inTransaction(db, async (tx) => {
    await tx.execute(sql`set local session_replication_role = replica`);
    await tx.execute(sql`update line_user set attributes = '{"city": "Bergen", "points": 7}'`);
  });
  await db.$client.query('vacuum analyze line_user');
  await db.$client.query('checkpoint');
}

/** Moves the n-th person to where a rule waits for them, as any service would: one statement, a transaction of its own. */
export async function movePerson(product: Product, n: number): Promise<void> {
  await product.database.db.$client.query({
    name: 'move',
    text: `update line_user set attributes = attributes || '{"city": "Oslo"}' where line_oa_id = $1 and user_id = $2`,
    values: [product.accounts[n % ACCOUNTS]?.lineOaId, userOf(Math.floor(n / ACCOUNTS))],
  });
}

/** Calls `work` so many times a second, whether or not earlier calls have ended. @returns When all have. */
export async function paced(count: number, perSecond: number, work: (n: number) => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  const running: Promise<void>[] = [];
  while (running.length < count) {
    const due = Math.min(count, Math.floor(((performance.now() - startedAt) * perSecond) / 1_000) + 1);
    while (running.length < due) running.push(work(running.length));
    await sleep(1);
  }
  await Promise.all(running);
}

/** Takes the tickets of messages to people, as line-delivery would. */
export async function hearMessages(product: Product): Promise<{
  /** By the id of the delivery: when its tickets came, in milliseconds of the epoch. */
  readonly arrivals: ReadonlyMap<string, readonly number[]>;
  drain(): Promise<void>;
}> {
  const broker = await connectTo(product);
  const arrivals = new Map<string, number[]>();
  const consumer = broker.consume(
    actionExecute,
    async ({ data }) => {
      const now = Date.now();
      for (const { id } of data.tickets) arrivals.set(id, [...(arrivals.get(id) ?? []), now]);
      return DONE;
    },
    { concurrency: 20 },
  );
  await broker.ready();
  const drain = async () => {
    await consumer.drain();
    await broker.close();
  };
  return { arrivals, drain };
}

/** By the id of each delivery: when its event was recorded, before its writer had committed, in milliseconds of the epoch. */
export async function recordedAt(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await db.$client.query<{ id: string; at: number }>(`
    select delivery.id::text, (extract(epoch from recorded_at) * 1000)::float8 as at
      from delivery join event_archive using (event_id)`);
  return new Map(rows.map(({ id, at }) => [id, at]));
}

/** Resolves when no event is undecided. @throws Error when that takes longer. */
export async function untilDecided({ database }: Product, timeoutMs: number): Promise<void> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(50)) {
    const { rows } = await database.db.$client.query<{ open: boolean }>(
      'select exists (select from event_outbox) as open',
    );
    if (rows[0]?.open === false) return;
  }
  throw new Error(`not every event was decided in ${timeoutMs} ms`);
}

/** Gives people so many points, in one statement and a transaction of its own. */
export async function givePoints(
  { database }: Product,
  { lineOaId, userIds, points }: { lineOaId: string; userIds: readonly string[]; points: number },
): Promise<void> {
  await database.db.$client.query({
    name: `give ${userIds.length === 1 ? 'one' : 'many'}`,
    text: `update line_user set attributes = jsonb_build_object('city', attributes -> 'city', 'points', $1::int)
            where line_oa_id = $2 and user_id = ${userIds.length === 1 ? '($3::text[])[1]' : 'any($3::text[])'}`,
    values: [points, lineOaId, userIds],
  });
}

/** Whether our triggers look at what is written about people. */
export async function setTriggers({ database }: Product, isOn: boolean): Promise<void> {
  await database.db.$client.query(`alter table line_user ${isOn ? 'enable' : 'disable'} trigger user`);
}

export async function countEvents({ database }: Product): Promise<number> {
  const { rows } = await database.db.$client.query<{ count: number }>(
    'select count(*)::int as count from event_outbox',
  );
  return rows[0]?.count ?? 0;
}
