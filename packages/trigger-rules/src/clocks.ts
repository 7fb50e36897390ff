import { column, sql, type Tx } from '@dueline/db';

/** Now, and the zone of an account. */
export interface AccountClock {
  /** Product time, RFC 3339 in UTC with microseconds. */
  readonly now: string;
  readonly accountZone: string;
}

/** By account, what conditions on dates are judged by. Reads line_oa; asks nothing about no account. */
export async function loadClocks(tx: Tx, lineOaIds: readonly string[]): Promise<ReadonlyMap<string, AccountClock>> {
  if (lineOaIds.length === 0) return new Map();
  const { rows } = await tx.execute<{ id: string; timezone: string; now: string }>(sql`
    select id, timezone, to_char(app_now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now
      from line_oa where id = any(${column([...new Set(lineOaIds)], 'bigint')})`);
  return new Map(rows.map(({ id, timezone, now }) => [id, { now, accountZone: timezone }]));
}
