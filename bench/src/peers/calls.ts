/** Adds one item after the other in each of `concurrency` lanes, which share the items. */
export async function inLanes<T>(
  items: readonly T[],
  concurrency: number,
  add: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const item of rest) await add(item);
    }),
  );
}

/** Opened at its first use; `close` ends it if it was used, and the next use opens it anew. */
export interface Lazily<T> {
  get(): Promise<T>;
  close(): Promise<void>;
}

export function lazily<T>(open: () => Promise<T>, end: (opened: T) => Promise<unknown>): Lazily<T> {
  let opened: Promise<T> | undefined;
  return {
    get: () => {
      opened ??= open();
      return opened;
    },
    close: async () => {
      const closing = opened;
      opened = undefined;
      if (closing !== undefined) await end(await closing);
    },
  };
}
