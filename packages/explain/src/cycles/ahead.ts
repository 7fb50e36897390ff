import { getMonth, type Month } from '@dueline/campaigns';
import { sql, type Tx } from '@dueline/db';
import type { Account } from '../rule-then.ts';
import type { Fate } from './play-person.ts';

/** Messages of a rule that are still to come, and the month that they are taken from. */
export interface Ahead {
  /** Messages within what is left of LINE's month, which is one of UTC+9. */
  readonly thisMonth: number;
  /** Messages after it. */
  readonly later: number;
  /** What is left of the month, as LINE told last. */
  readonly month: Month;
}

/** Counts messages that are sent after now. */
export async function createAhead(tx: Tx, { to }: { readonly to: string }) {
  const { rows } = await tx.execute<{ now: string; ends: string; is_ahead: boolean }>(sql`
    select (extract(epoch from app_now()) * 1000000)::bigint as now,
           (extract(epoch from (date_trunc('month', app_now() at time zone 'Asia/Tokyo') + interval '1 month') at time zone 'Asia/Tokyo')
              * 1000000)::bigint as ends,
           ${to}::timestamptz > app_now() as is_ahead`);
  const [row] = rows;
  if (row === undefined) throw new Error('a query without a table returned no row');
  const [now, ends] = [Number(row.now), Number(row.ends)];
  let thisMonth = 0;
  let later = 0;
  return {
    count: ({ became, at }: NonNullable<Fate['message']>): void => {
      if (at < now || (became !== 'sent' && became !== 'shifted')) return;
      if (at < ends) thisMonth += 1;
      else later += 1;
    },
    /** Null: nothing of the range is still to come. */
    result: async (account: Account): Promise<Ahead | null> =>
      row.is_ahead ? { thisMonth, later, month: await getMonth(tx, account) } : null,
  };
}
