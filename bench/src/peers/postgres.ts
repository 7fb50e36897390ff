import pg from 'pg';

/** More than any scenario has calls at once. */
const MAX_CONNECTIONS = 32;

export function openPool(databaseUrl: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: MAX_CONNECTIONS });
  const print = (error: Error): void => console.error(error); // the next query says it too
  pool.on('error', print).on('connect', (client) => client.on('error', print));
  return pool;
}

/** Between one day and a month from now, for each row anew. */
export const WAITING_UNTIL = `now() + interval '1 day' + random() * interval '29 days'`;
export const MONTH_MS = 30 * 86_400_000;

/** A row that the peer wrote by its own call, to be repeated in the server. */
export interface Template {
  /** With its schema. */
  readonly table: string;
  /** Picks the row. */
  readonly where: string;
  /** Columns that differ from copy to copy, as SQL. */
  readonly vary: Readonly<Record<string, string>>;
}

/** Copies of one row, with the indexes and columns that the peer gave it; those that the server makes are made anew. */
export async function copyRow(pool: pg.Pool, { table, where, vary }: Template, copies: number): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select quote_ident(attname) as name from pg_attribute
      where attrelid = $1::regclass and attnum > 0 and not attisdropped and attidentity = '' and attgenerated = ''`,
    [table],
  );
  const names = rows.map(({ name }) => name);
  await pool.query(
    `insert into ${table} (${names.join(', ')})
     select ${names.map((name) => vary[name] ?? `row.${name}`).join(', ')}
       from (select * from ${table} where ${where} limit 1) as row
      cross join generate_series(1, $1::int)`,
    [copies],
  );
}

/** Statistics and an empty write-ahead log, so that each round begins alike. */
export async function settleTables(pool: pg.Pool, schema: string): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = $1`,
    [schema],
  );
  await pool.query(`vacuum (analyze) ${rows.map(({ name }) => name).join(', ')}`);
  await pool.query('checkpoint');
}

export async function count(pool: pg.Pool, query: string): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(query);
  return Number(rows[0]?.count);
}
