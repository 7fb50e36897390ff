import { type SQL, sql } from 'drizzle-orm';
import { arrayLiteral } from './batch.ts';
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
  const documents = createShared();
  const share = (document: unknown): number | null =>
    document === null || document === undefined ? null : documents.placeOf(document);
  const rows = JSON.stringify(items.map((item) => toRow(item, share)));
  return { rows, shared: documents.text() };
}

/** Documents of which each is kept once; one that is met again as the very same object is not even looked at. */
function createShared() {
  const places = new Map<string, number>();
  const met = new Map<unknown, number>();
  const placeOfText = (text: string): number => {
    const place = places.get(text) ?? places.size;
    places.set(text, place);
    return place;
  };
  return {
    placeOf: (document: unknown): number => {
      const place = met.get(document) ?? placeOfText(JSON.stringify(document));
      met.set(document, place);
      return place;
    },
    text: () => `[${[...places.keys()].join(',')}]`,
  };
}

/** What many items have alike, once each as a JSON array, and which of it each item has: the text of an integer[], from 0 on. */
export interface Kinds {
  readonly places: string;
  readonly kinds: string;
}

/** The kinds of items, as `toKind` says them; `undefined`: none, and no place. Text must be storable, as in {@link rowsOf}. */
export function kindsOf<Item>(items: readonly Item[], toKind: (item: Item) => unknown): Kinds {
  const documents = createShared();
  const places = items.map((item) => {
    const kind = toKind(item);
    return kind === undefined ? null : documents.placeOf(kind);
  });
  return { places: arrayLiteral(places), kinds: documents.text() };
}

/**
 * The rows of {@link rowsOf} in the template of a statement; what follows says `as row (column type, …)`, a place being an integer. As json,
 * because they are read once: to make jsonb of them first costs half as much again.
 */
export const rowsGiven = (name: string): SQL => sql`json_to_recordset(${given(`${name}.rows`)}::json)`;

/** The document whose place stands in this column, as jsonb. */
export const sharedGiven = (name: string, column: string): SQL =>
  sql`(${given(`${name}.shared`)}::jsonb -> ${sql.raw(column)})`;
