import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ConfigRow, describeConfig } from '@dueline/runtime';
import { z } from 'zod';
import { code, page, table } from './markdown.ts';

type Schema = { readonly app: string; readonly name: string; readonly rows: readonly ConfigRow[] };

/** Every variable of every app, from the zod schemas that each app exports from its config.ts. */
export async function configPage(root: string): Promise<string> {
  const schemas = (
    await Promise.all(
      globSync('apps/*/src/config.ts', { cwd: root })
        .toSorted()
        .map((path) => readSchemas(root, path)),
    )
  ).flat();
  const services = schemas.filter(({ name }) => name === 'configSchema');
  const shared = sharedRows(services);
  const keys = new Set(shared.map(keyOf));
  return page('Configuration', [
    'Read from the environment once, at the start; all problems are reported together. An empty value counts as not given. ' +
      'A production minimum holds unless `DUELINE_ENV` is `test`.',
    '## Every service',
    rowsTable(shared),
    ...schemas.flatMap((schema) => [`## ${titleOf(schema)}`, ownTable(schema, keys)]),
  ]);
}

async function readSchemas(root: string, path: string): Promise<Schema[]> {
  // By computed path, because an app is nobody's dependency: nothing is imported from it but these schemas.
  const module: Record<string, unknown> = await import(pathToFileURL(join(root, path)).href);
  const app = path.split('/')[1] ?? path;
  const schemas = Object.entries(module).flatMap(([name, value]) =>
    value instanceof z.ZodObject ? [{ app, name, rows: describeConfig(value) }] : [],
  );
  if (schemas.length === 0)
    throw new Error(`${path} exports no zod object: its variables would be missing in the page`);
  return schemas.toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
}

/** `configSchema` is what a service reads; any other name says what it configures, as `migrateSchema` does. */
function titleOf({ app, name }: Schema): string {
  return name === 'configSchema' ? app : `${app}: ${name.replace(/Schema$/, '')}`;
}

const keyOf = (row: ConfigRow): string => JSON.stringify(row);

function sharedRows(services: readonly Schema[]): ConfigRow[] {
  const [first, ...others] = services;
  return (first?.rows ?? []).filter((row) =>
    others.every(({ rows }) => rows.some((other) => keyOf(other) === keyOf(row))),
  );
}

function ownTable({ rows }: Schema, shared: ReadonlySet<string>): string {
  const own = rows.filter((row) => !shared.has(keyOf(row)));
  return own.length === 0 ? 'Nothing beyond the variables of every service.' : rowsTable(own);
}

function rowsTable(rows: readonly ConfigRow[]): string {
  return table(
    ['variable', 'type', 'default', 'production minimum', 'what it is'],
    rows.map((row) => {
      const [, type = row.type, minimum = ''] = /^(.*?) \(production: from (.*?)\)$/.exec(row.type) ?? [];
      return [code(row.name), type, row.required ? 'required' : code(row.default) || 'none', minimum, row.description];
    }),
  );
}
