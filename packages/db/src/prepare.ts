import { createHash } from 'node:crypto';
import type pg from 'pg';

/** Beyond this many different texts, statements are built from values instead of parameters, and naming them would only leak. */
const MAX_STATEMENTS = 500;
const names = new Map<string, string>();

/** The name under which every connection prepares this text; undefined when there are too many already. */
export function nameOf(text: string): string | undefined {
  const known = names.get(text);
  if (known !== undefined || names.size >= MAX_STATEMENTS) return known;
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 24);
  names.set(text, name);
  return name;
}

/**
 * Lets a connection prepare each statement that has parameters once, by its text, and run it by name from then on: parsing
 * and planning are half of the cost of our short statements. A text has one name on every connection.
 */
export function prepareByText(client: pg.PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const named = (config: unknown, values: unknown, ...rest: unknown[]) => {
    const isUnnamed =
      typeof config === 'object' && config !== null && 'text' in config && !('name' in config && config.name);
    if (!isUnnamed || !Array.isArray(values) || values.length === 0) return query(config, values, ...rest);
    return query({ ...config, name: nameOf(String(config.text)) }, values, ...rest);
  };
  client.query = named as unknown as pg.PoolClient['query'];
}
