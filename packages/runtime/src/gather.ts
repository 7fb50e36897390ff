import { AsyncLocalStorage } from 'node:async_hooks';

export interface Gathering<Item> {
  /** What is served together may have this size, unless a single item is larger. */
  readonly maxSize: number;
  /** How much an item adds to it; 1 unless given. */
  readonly sizeOf?: (item: Item) => number;
  /** How many batches are served at the same time; 1 unless given. */
  readonly atOnce?: number;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly done: PromiseWithResolvers<Result>;
  /** Runs in the context of the item, e.g. its trace. */
  readonly inContext: ReturnType<typeof AsyncLocalStorage.snapshot>;
}

/**
 * Gathers items while `work` is busy and hands them over together as soon as it is free: one item is served at once, a
 * flood in batches, and nothing ever waits for a timer. A batch runs in the context of its first item.
 *
 * @param work Serves one item or more. What it throws reaches every item of its batch.
 * @returns Serves one item; resolves with the result that `work` gave for it.
 */
export function gather<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  { maxSize, sizeOf = () => 1, atOnce = 1 }: Gathering<Item>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let busy = 0;
  const serveBatch = async (batch: readonly Waiting<Item, Result>[]) => {
    try {
      const items = batch.map(({ item }) => item);
      const results = await (batch[0]?.inContext(() => work(items)) ?? []);
      for (const [at, { done }] of batch.entries()) done.resolve(results[at] as Result);
    } catch (error) {
      for (const { done } of batch) done.reject(error);
    }
  };
  const serve = async () => {
    busy += 1;
    while (waiting.length > 0) await serveBatch(takeBatch(waiting, maxSize, sizeOf));
    busy -= 1;
  };
  return (item) => {
    const done = Promise.withResolvers<Result>();
    waiting.push({ item, done, inContext: AsyncLocalStorage.snapshot() });
    if (busy < atOnce) void serve();
    return done.promise;
  };
}

/** Takes what waits longest, as much as fits. */
function takeBatch<Entry extends { readonly item: Item }, Item>(
  waiting: Entry[],
  maxSize: number,
  sizeOf: (item: Item) => number,
): Entry[] {
  let [count, size] = [0, 0];
  for (const { item } of waiting) {
    size += sizeOf(item);
    if (count > 0 && size > maxSize) break;
    count += 1;
  }
  return waiting.splice(0, count);
}
