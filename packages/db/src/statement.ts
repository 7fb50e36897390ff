import { is, Placeholder, type SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import { translateError } from './errors.ts';
import type { Db, Tx } from './open.ts';
import { nameOf } from './prepare.ts';

/** Many rows and what they share, each as JSON text: made by `rowsOf`, read by `rowsGiven` and `sharedGiven`. */
export interface Rows {
  readonly rows: string;
  readonly shared: string;
}

type Value = string | number | boolean | null | readonly (string | number | null)[] | Rows;

/** Runs a statement and gives its rows; throws what `execute` on the same pool or transaction throws. */
export type Statement<Row extends object, Values extends Readonly<Record<string, Value>>> = (
  on: Db | Tx,
  values: Values,
) => Promise<Row[]>;

/**
 * A statement whose text is built once, at its first run, instead of at each: for what runs once for a row. Its values are
 * named by {@link given} in the template; a value that stands there twice travels once. Instants come back as text, as from
 * `execute`.
 *
 * @throws Error at the first run when the template holds a value that is not named.
 */
export function statement<Row extends object, Values extends Readonly<Record<string, Value>>>(
  template: SQL,
): Statement<Row, Values> {
  let built: Built | undefined;
  return async (on, values) => {
    built ??= build(template);
    const params = built.names.map((name) => readValue(values, name));
    // Without fields and mapper the driver's own result comes back, as from `execute`.
    const query = on._.session.prepareQuery<{ execute: { rows: Row[] }; all: never; values: never }>(
      { sql: built.text, params },
      undefined,
      built.name,
      false,
    );
    try {
      return (await query.execute()).rows;
    } catch (error) {
      throw '$client' in on ? translateError(error) : error; // of a transaction, inTransaction does it, once it gives up
    }
  };
}

/**
 * A statement that writes and goes along with another one, as a CTE, reading the rows that this one wrote (whoever takes it along says under
 * which name): what belongs to each row is written with it, in one round trip. Its template is a constant, and names its values.
 */
export interface Alongside {
  readonly template: SQL;
  readonly values: Readonly<Record<string, string>>;
}

/** The place of a value in the template of a {@link statement}. */
export const given = (name: string): SQL => sql`${sql.placeholder(name)}`;

interface Built {
  readonly text: string;
  readonly names: readonly string[];
  readonly name: string | undefined;
}

function build(template: SQL): Built {
  const query = new PgDialect().sqlToQuery(template);
  const names = query.params.map((param) => {
    if (!is(param, Placeholder)) throw new Error('a value of a prepared statement has no name');
    return String(param.name);
  });
  const distinct = [...new Set(names)];
  const text = query.sql.replace(/\$(\d+)/g, (_, n) => `$${distinct.indexOf(names[Number(n) - 1] ?? '') + 1}`);
  return { text, names: distinct, name: nameOf(text) };
}

/** Of rows, `<name>.rows` and `<name>.shared` are values of their own. */
function readValue(values: Readonly<Record<string, Value>>, name: string): Value {
  const [whole = '', part] = name.split('.');
  const value = values[whole];
  if (value === undefined) throw new Error(`a prepared statement was run without its value "${name}"`);
  if (part === undefined || !isRows(value)) return value;
  return part === 'rows' ? value.rows : value.shared;
}

const isRows = (value: Value): value is Rows => typeof value === 'object' && value !== null && 'rows' in value;
