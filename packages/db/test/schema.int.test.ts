import * as schema from '@dueline/db/schema';
import { type TestDb, testDb } from '@dueline/db/testing';
import { is, type SQL } from 'drizzle-orm';
import { getTableConfig, PgDialect, PgTable } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, expect, test } from 'vitest';

let shared: TestDb;
beforeAll(async () => {
  shared = await testDb();
});
afterAll(() => shared[Symbol.asyncDispose]());

const dialect = new PgDialect();
const tables = Object.values(schema).filter((table) => is(table, PgTable));

interface Column {
  name: string;
  type: string;
  notNull: boolean;
  hasDefault: boolean;
}

const byName = (left: { name: string }, right: { name: string }) => (left.name < right.name ? -1 : 1);

async function columnsInDatabase(table: string): Promise<Column[]> {
  const { rows } = await shared.db.$client.query<Column>(
    `select attname as name, format_type(atttypid, atttypmod) as type, attnotnull as "notNull",
            atthasdef or attidentity <> '' as "hasDefault"
       from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
    [table],
  );
  return rows.sort(byName);
}

async function keysInDatabase(table: string) {
  const { rows } = await shared.db.$client.query<{
    name: string;
    kind: 'p' | 'u' | 'i';
    definition: string;
    where: string | null;
  }>(
    `select class.relname as name, coalesce(con.contype, 'i') as kind,
            (select string_agg(case i.indkey[n - 1] when 0 then 'expression' else pg_get_indexdef(i.indexrelid, n, true) end || case when i.indoption[n - 1] & 1 = 1 then ' desc' else '' end, ', ' order by n)
               from generate_series(1, i.indnkeyatts) as n) as definition,
            pg_get_expr(i.indpred, i.indrelid) as where
       from pg_index as i join pg_class as class on class.oid = i.indexrelid
       left join pg_constraint as con on con.conindid = i.indexrelid and con.contype in ('p', 'u')
      where i.indrelid = $1::regclass`,
    [table],
  );
  return rows;
}

/** A predicate as the database itself would write it, so that both sides compare as text. */
async function normalized(table: string, where: SQL): Promise<string> {
  const client = await shared.db.$client.connect();
  try {
    await client.query('begin');
    await client.query(`create index probe on ${table} ((1)) where ${dialect.sqlToQuery(where).sql}`);
    const { rows } = await client.query(
      `select pg_get_expr(indpred, indrelid) as text from pg_index where indexrelid = 'probe'::regclass`,
    );
    return String(rows[0]?.text);
  } finally {
    await client.query('rollback');
    client.release();
  }
}

test('every table of the database but the internal ones has its drizzle table', async () => {
  const { rows } = await shared.db.$client.query(
    `select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  );
  const internal = ['schema_migration', 'notify_gate'];
  expect(
    rows
      .map(({ relname }) => relname)
      .filter((name) => !internal.includes(name))
      .sort(),
  ).toEqual(tables.map((table) => getTableConfig(table).name).sort());
});

test.for(tables.map((table) => getTableConfig(table)))(
  '$name: drizzle has the columns of the database',
  async (config) => {
    const declared = config.columns.map((column) => ({
      name: column.name,
      type: column.getSQLType(),
      notNull: column.notNull || column.primary,
      hasDefault: column.hasDefault || column.generatedIdentity !== undefined || column.generated !== undefined,
    }));
    expect(declared.sort(byName)).toEqual(await columnsInDatabase(config.name));
  },
);

test.for(tables.map((table) => getTableConfig(table)))(
  '$name: drizzle has the keys and indexes of the database',
  async (config) => {
    const found = await keysInDatabase(config.name);
    const of = (kind: string) => found.filter((key) => key.kind === kind).sort(byName);

    const composite = config.primaryKeys.map((key) => key.columns.map(({ name }) => name).join(', '));
    const single = config.columns.filter((column) => column.primary).map(({ name }) => name);
    expect([...composite, ...single]).toEqual(of('p').map(({ definition }) => definition));

    expect(
      config.uniqueConstraints
        .map((key) => ({ name: key.name, definition: key.columns.map(({ name }) => name).join(', ') }))
        .sort((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1)),
    ).toEqual(of('u').map(({ name, definition }) => ({ name, definition })));

    const declared = await Promise.all(
      config.indexes.map(async ({ config: index }) => ({
        name: index.name ?? '',
        definition: index.columns
          .map((column) =>
            'indexConfig' in column
              ? `${column.name}${column.indexConfig?.order === 'desc' ? ' desc' : ''}`
              : 'expression',
          )
          .join(', '),
        where: index.where === undefined ? null : await normalized(config.name, index.where),
      })),
    );
    expect(declared.sort(byName)).toEqual(of('i').map(({ name, definition, where }) => ({ name, definition, where })));
  },
);
