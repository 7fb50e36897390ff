/**
 * Text that Postgres accepts in `text` and `jsonb`: NUL characters and lone surrogates become U+FFFD, and what is longer
 * than `maxLength` UTF-16 units is cut without splitting a surrogate pair. Error texts come from anywhere; a finish that
 * fails because of its own error text would run the work again for ever.
 */
export function storableText(text: string, maxLength = 1_000): string {
  const cut = text.length > maxLength ? text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '') : text;
  return cut.toWellFormed().replaceAll('\u0000', '\uFFFD');
}

/** The message of anything that was thrown, made storable; never a stack, never SQL parameters. */
export function errorText(error: unknown): string {
  return storableText(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}
