import { PermanentError } from '@dueline/kernel';
import { sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from './open.ts';
import { makePartitions } from './partitions.ts';

/**
 * Lets product time of a test or demo database run ahead of the clock: app_now() becomes now() plus an offset. Never
 * installed elsewhere, and workers refuse such a database in production ({@link hasTimeMachine}). Cannot be undone.
 */
export async function installTimeMachine(db: Db): Promise<void> {
  await db.$client.query(`
    create table if not exists product_time_offset (id smallint primary key default 1, ahead interval not null default '0');
    grant select on product_time_offset to public;
    insert into product_time_offset default values on conflict do nothing;
    create or replace function app_now() returns timestamptz language sql stable parallel safe as
      $$ select now() + (select ahead from public.product_time_offset) $$`);
}

/** Whether product time of this database can be moved. */
export async function hasTimeMachine(db: Db): Promise<boolean> {
  const { rows } = await db.execute<{ has: boolean }>(
    sql`select to_regclass('product_time_offset') is not null as has`,
  );
  return rows[0]?.has === true;
}

/** Where product time stands. */
export interface ProductTime {
  /** RFC 3339, UTC. */
  readonly now: string;
  /** Seconds ahead of the clock. */
  readonly aheadSeconds: number;
}

/** @throws PermanentError when the database has no time machine. */
export async function readProductTime(db: Db | Tx): Promise<ProductTime> {
  const { rows } = await db.execute<{ now: string; ahead: string }>(sql`
    select to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as now, extract(epoch from ahead) as ahead
      from product_time_offset`);
  const [time] = rows;
  if (time === undefined) throw new Error('the offset of product time is missing');
  return { now: time.now, aheadSeconds: Number(time.ahead) };
}

const DAYS_OF_SHORTEST_MONTH = 28;
const SECONDS_PER_DAY = 86_400;

export interface TimeJump {
  readonly seconds: number;
  /** Called within the jump's transaction with the new offset in seconds: clocks outside the database move with it. */
  readonly moveOthers: (aheadSeconds: number) => Promise<void>;
  /** Goes on though rows wait for their next attempt, so that a key in doubt may grow too old; for tests of just that. */
  readonly leavesDoubts?: boolean;
}

/**
 * Moves product time ahead, all clocks together, while no request to LINE is on its way and none is without a verdict: what a
 * retry key protects for 24 hours must not be left behind by the jump. The partitions up to the target exist before it.
 * Claimers notice within their second; the notifications `scheduled_action_due` and `campaign_due` make it at once.
 *
 * @returns undefined, and nothing moved, when requests are open: try again.
 * @throws PermanentError for a jump that does not go forward.
 */
export async function jumpAhead(
  db: Db,
  { seconds, moveOthers, leavesDoubts = false }: TimeJump,
): Promise<ProductTime | undefined> {
  if (!(seconds > 0)) throw new PermanentError('time only moves forward');
  await makePartitions(db, Math.ceil(seconds / SECONDS_PER_DAY / DAYS_OF_SHORTEST_MONTH));
  return inTransaction(db, async (tx) => {
    await tx.execute(sql`lock table delivery in share row exclusive mode`); // no request starts before the jump is over
    if ((await (leavesDoubts ? requestsOnTheirWay(tx) : openRequests(tx))).length > 0) return undefined;
    await tx.execute(sql`update product_time_offset set ahead = ahead + make_interval(secs => ${seconds})`);
    const time = await readProductTime(tx);
    await moveOthers(time.aheadSeconds);
    await tx.execute(sql`select pg_notify('scheduled_action_due', ''), pg_notify('campaign_due', '')`);
    return time;
  });
}

async function requestsOnTheirWay(tx: Tx): Promise<unknown[]> {
  return (await tx.execute(sql`select from delivery where status = 'sending' limit 1`)).rows;
}

/** Deliveries that are due, on their way or without a verdict, as text for people; at most ten. */
export async function openRequests(db: Db | Tx): Promise<string[]> {
  const { rows } = await db.execute<{ what: string }>(sql`
    select format('delivery %s is %s', id, case when status = 'sending' then 'on its way to LINE' else 'waiting for its next attempt' end) as what
      from delivery
     where status = 'sending' or (status = 'planned' and (next_attempt_at <= app_now() or first_attempt_at is not null))
     order by id limit 10`);
  return rows.map(({ what }) => what);
}
