import { sql, type Tx } from '@dueline/db';

/**
 * From which instant on the history is whole, RFC 3339; null: nothing of it was ever taken away. Old months of history are taken away whole, so
 * it begins with the oldest month that is left of the table that has the fewest.
 */
export async function historyBegins(tx: Tx): Promise<string | null> {
  const { rows } = await tx.execute<{ begins: string | null }>(sql`
    select to_char(max(oldest) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as begins
      from (select parent.relname,
                   min((regexp_match(pg_get_expr(month.relpartbound, month.oid), 'FROM \\(''([^'']+)''\\)'))[1]::timestamptz) as oldest
              from pg_inherits join pg_class as parent on parent.oid = inhparent join pg_class as month on month.oid = inhrelid
             where parent.oid in ('event_archive'::regclass, 'attribute_change'::regclass)
             group by parent.relname) as kept`);
  return rows[0]?.begins ?? null;
}
