/**
 * Remembers what `load` gave for a key for `ttlMs` of process time; loads of one key at the same moment share one call, and
 * a failed one is not remembered.
 */
export function cached<T>(load: (key: string) => Promise<T>, ttlMs: number): (key: string) => Promise<T> {
  const entries = new Map<string, { value: Promise<T>; until: number }>();
  return (key) => {
    const entry = entries.get(key);
    if (entry !== undefined && entry.until > performance.now()) return entry.value;
    const value = load(key);
    entries.set(key, { value, until: performance.now() + ttlMs });
    value.catch(() => entries.delete(key));
    return value;
  };
}
