import { type SQL, sql } from 'drizzle-orm';
import { given, type Rows } from './statement.ts';

/**
 * Rows as one value of a {@link statement}, read by {@link rowsGiven}: reading an array for each column costs more where rows are few.
 * `toRow` names columns as SQL does. A document that many rows have alike travels once: `share` gives its place, which
 * {@link sharedGiven} reads; null and undefined are no document.
 *
 * Text must be storable: lone surrogates are an error here.
 */
export function rowsOf<Item>(
  items: readonly Item[],
  toRow: (item: Item, share: (document: unknown) => number | null) => object,
): Rows {
  const places = new Map<string, number>();
  const share = (document: unknown): number | null => {
    if (document === null || document === undefined) return null;
    const text = JSON.stringify(document);
    const place = places.get(text) ?? places.size;
    places.set(text, place);
    return place;
  };
  const rows = JSON.stringify(items.map((item) => toRow(item, share)));
  return { rows, shared: `[${[...places.keys()].join(',')}]` };
}

/**
 * The rows of {@link rowsOf} in the template of a statement; what follows says `as row (column type, …)`, a place being an integer. As json,
 * because they are read once: to make jsonb of them first costs half as much again.
 */
export const rowsGiven = (name: string): SQL => sql`json_to_recordset(${given(`${name}.rows`)}::json)`;

/** The document whose place stands in this column, as jsonb. */
export const sharedGiven = (name: string, column: string): SQL =>
  sql`(${given(`${name}.shared`)}::jsonb -> ${sql.raw(column)})`;
