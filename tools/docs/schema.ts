import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getTableConfig, IndexedColumn, is, PgDialect, PgTable, SQL } from '@dueline/db';
import * as schema from '@dueline/db/schema';
import { code, docstringOf, page, table } from './markdown.ts';

type TableConfig = ReturnType<typeof getTableConfig>;
type Column = TableConfig['columns'][number];
type IndexConfig = TableConfig['indexes'][number]['config'];

const dialect = new PgDialect();

/** Every table: who writes it and why its indexes exist (the docstring), columns, keys and indexes (the drizzle table). */
export function schemaPage(root: string): string {
  const sources = globSync('packages/db/src/schema/*.ts', { cwd: root })
    .toSorted()
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n');
  const sections = Object.entries(schema)
    .flatMap(([name, value]) => (is(value, PgTable) ? [{ name, config: getTableConfig(value) }] : []))
    .toSorted((a, b) => a.config.name.localeCompare(b.config.name, 'en'))
    .map(({ name, config }) => tableSection(config, docstringOf(sources, name)));
  return page('Tables', [
    'From the Drizzle tables in `packages/db/src/schema`. What SQL alone holds (guards of moves, triggers, partitions, ' +
      'row security) is in `packages/db/migrations`.',
    ...sections,
  ]);
}

function tableSection(config: TableConfig, docstring: string): string {
  if (docstring === '')
    throw new Error(
      `the schema file says nothing above the table ${config.name}: who writes it, and why its indexes exist`,
    );
  const keys = [...keyLines(config), ...config.indexes.map((index) => indexLine(index.config))];
  return [
    `## ${config.name}`,
    docstring.replaceAll('\n', '  \n'),
    table(['column', 'type', 'null', 'default'], config.columns.map(columnCells)),
    ...(keys.length === 0 ? [] : [keys.map((line) => `- ${line}`).join('\n')]),
  ].join('\n\n');
}

function columnCells(column: Column): string[] {
  const values = column.enumValues?.length ? ` (${column.enumValues.join(', ')})` : '';
  return [code(column.name), `${column.getSQLType()}${values}`, column.notNull ? '' : 'null', defaultText(column)];
}

function defaultText(column: Column): string {
  if (column.generatedIdentity !== undefined) return `identity, ${column.generatedIdentity.type}`;
  if (column.default === undefined) return '';
  return code(is(column.default, SQL) ? sqlText(column.default) : JSON.stringify(column.default));
}

function keyLines(config: TableConfig): string[] {
  const names = (columns: readonly { name: string }[]) => columns.map(({ name }) => name).join(', ');
  const single = config.columns.filter(({ primary }) => primary);
  return [
    ...(single.length === 0 ? [] : [`primary key (${names(single)})`]),
    ...config.primaryKeys.map((key) => `primary key (${names(key.columns)})`),
    ...config.uniqueConstraints.map((key) => `${code(key.getName())} unique (${names(key.columns)})`),
    ...config.foreignKeys.map((key) => {
      const { columns, foreignColumns, foreignTable } = key.reference();
      return `(${names(columns)}) refers to ${getTableConfig(foreignTable).name} (${names(foreignColumns)})`;
    }),
    ...config.checks.map((check) => `${code(check.name)} check ${code(sqlText(check.value))}`),
  ];
}

function indexLine(index: IndexConfig): string {
  const columns = index.columns.map(indexedText);
  const where = index.where === undefined ? '' : ` where ${code(sqlText(index.where))}`;
  return `${code(index.name)} ${index.unique ? 'unique ' : ''}index (${columns.join(', ')})${where}`;
}

function indexedText(column: IndexConfig['columns'][number]): string {
  if (!is(column, IndexedColumn)) return is(column, SQL) ? sqlText(column) : '';
  const { order, nulls } = column.indexConfig;
  const usual = order === 'desc' ? 'first' : 'last';
  return [column.name, order === 'desc' ? 'desc' : '', nulls === undefined || nulls === usual ? '' : `nulls ${nulls}`]
    .filter(Boolean)
    .join(' ');
}

function sqlText(value: SQL): string {
  return dialect.sqlToQuery(value.inlineParams()).sql.replace(/\s+/g, ' ').trim();
}
