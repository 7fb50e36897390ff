import { type Db, sql } from '@dueline/db';

/** Counting stops here: whether a hundred thousand more wait, the age of the oldest tells better. */
const MOST = 10_000;

/** Rows of each kind, 10,000 at most. */
export interface OpenActionCounts {
  /** pending, and their time has come; those of stopped and paused accounts and waits within their grace too. */
  readonly due: number;
  readonly processing: number;
  /** processing, though their lease has been over for a minute of process time: nobody takes them back. */
  readonly stuck: number;
}

/** How much is due, in hand and stuck, of all accounts. Each count reads as many entries of an index as it tells, at most. */
export async function countOpenActions(db: Db): Promise<OpenActionCounts> {
  const { rows } = await db.execute<{ due: number; processing: number; stuck: number }>(sql`
    select (select count(*) from (
              select from scheduled_action where status = 'pending' and gen >= 0 and execute_at <= app_now() limit ${MOST}) as due)::int as due,
           (select count(*) from (
              select from scheduled_action where status = 'processing' limit ${MOST}) as held)::int as processing,
           (select count(*) from (
              select from scheduled_action
               where status = 'processing' and lease_until < clock_timestamp() - interval '1 minute' limit ${MOST}) as stuck)::int as stuck`);
  return rows[0] ?? { due: 0, processing: 0, stuck: 0 };
}
