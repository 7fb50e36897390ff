import { type SQL, sql } from 'drizzle-orm';
import { given } from './statement.ts';

/**
 * Rows as one JSON value of a {@link statement}, read by {@link rowsGiven}: reading an array for each column costs more on both
 * sides. `toRow` names columns as SQL does. A document that many rows have alike travels once: `share` gives its place, which
 * {@link sharedGiven} reads; null and undefined are no document.
 *
 * Text must be storable: lone surrogates are an error here.
 */
export function rowsOf<Item>(
  items: readonly Item[],
  toRow: (item: Item, share: (document: unknown) => number | null) => object,
): string {
  const places = new Map<string, number>();
  const share = (document: unknown): number | null => {
    if (document === null || document === undefined) return null;
    const text = JSON.stringify(document);
    const place = places.get(text) ?? places.size;
    places.set(text, place);
    return place;
  };
  const rows = JSON.stringify(items.map((item) => toRow(item, share)));
  return `{"rows":${rows},"shared":[${[...places.keys()].join(',')}]}`;
}

/** The rows of {@link rowsOf} in the template of a statement; what follows says `as row (column type, …)`, a place being an integer. */
export const rowsGiven = (name: string): SQL => sql`jsonb_to_recordset(${given(name)}::jsonb -> 'rows')`;

/** The document whose place stands in this column, as jsonb. */
export const sharedGiven = (name: string, column: string): SQL =>
  sql`${given(name)}::jsonb #> array['shared', ${sql.raw(column)}::text]`;
