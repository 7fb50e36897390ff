import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { readDump } from './release.ts';

// Belongs to the cluster, not to the database, so it is not in the dump; as in 0001_clock_and_guards.sql.
const ROLE = `
  do $$ begin
    if not exists (select from pg_roles where rolname = 'dueline_tenant') then create role dueline_tenant nologin; end if;
    execute format('grant dueline_tenant to %I', current_user);
  exception when unique_violation or duplicate_object then null; -- another database's migration did it at the same moment
  end $$`;

/** Columns of process time: leases and bookkeeping, which every release reads by clock_timestamp(). */
const PROCESS_TIMES = `
  select string_agg(format('%I = %I + (clock_timestamp() - $1::timestamptz)', column_name, column_name), ', ') as changes, table_name as name
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
   where table_schema = 'public' and table_type = 'BASE TABLE' and table_name !~ '_\\d{4}_\\d{2}$|_default$'
     and column_name in ('lease_until', 'claimed_at', 'looked_at', 'started_at', 'finished_at', 'updated_at', 'updated_date', 'planned_at', 'counted_at', 'recorded_at')
   group by table_name`;

/**
 * Writes the dump of the kept release into an empty database, as if it had been made this moment: process time moves to the clock of
 * this machine, and product time goes on from where it stood, whatever day it is here.
 *
 * @param dumpedAt What the clock said then, RFC 3339.
 */
export async function restore(databaseUrl: string, dumpedAt: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(ROLE);
    await client.query(gunzipSync(readDump()).toString('utf8'));
    await client.query('set search_path to default; set session_replication_role = replica; analyze');
    await client.query('update product_time_offset set ahead = ahead - (clock_timestamp() - $1::timestamptz)', [
      dumpedAt,
    ]);
    const { rows } = await client.query<{ name: string; changes: string }>(PROCESS_TIMES);
    for (const { name, changes } of rows)
      await client.query(`update ${name} set ${changes.replaceAll('$1', client.escapeLiteral(dumpedAt))}`);
  } finally {
    await client.end();
  }
}
