import { AsyncLocalStorage } from 'node:async_hooks';
import { sleep } from '@dueline/kernel';

export interface Gathering<Item> {
  /** What is served together may have this size, unless a single item is larger. */
  readonly maxSize: number;
  /** How much an item adds to it; 1 unless given. */
  readonly sizeOf?: (item: Item) => number;
  /** How many batches are served at the same time; 1 unless given. */
  readonly atOnce?: number;
  /** How long a batch waits for company when the last one began less than {@link STREAM_MS} ago, in milliseconds; 0 unless given. */
  readonly settleMs?: number;
}

/** Two items that come further apart are no stream: the second one does not wait. */
const STREAM_MS = 20;

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly done: PromiseWithResolvers<Result>;
  /** Runs in the context of the item, e.g. its trace. */
  readonly inContext: ReturnType<typeof AsyncLocalStorage.snapshot>;
}

/**
 * Gathers items while `work` is busy and hands them over together as soon as it is free: one item is served at once, a
 * flood in batches. Nothing waits for a timer, unless `settleMs` is given and items come in a stream. A batch runs in the context of its first item.
 *
 * @param work Serves one item or more. What it throws reaches every item of its batch.
 * @returns Serves one item; resolves with the result that `work` gave for it.
 */
export function gather<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  { maxSize, sizeOf = () => 1, atOnce = 1, settleMs = 0 }: Gathering<Item>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let busy = 0;
  let isSettling = false;
  let begunAt = Number.NEGATIVE_INFINITY;
  const isInStream = () => settleMs > 0 && performance.now() < begunAt + STREAM_MS;
  const settle = async () => {
    isSettling = true;
    await sleep(settleMs);
    isSettling = false;
  };
  const serve = async () => {
    busy += 1;
    if (isInStream()) await settle();
    while (waiting.length > 0 && !isSettling) {
      const batch = takeBatch(waiting, maxSize, sizeOf);
      begunAt = performance.now();
      if (waiting.length > 0) serveMore(); // what came while this one settled, and is too much for it
      await serveBatch(batch, work);
    }
    busy -= 1;
  };
  const serveMore = () => {
    if (busy < atOnce && !isSettling) void serve();
  };
  return (item) => {
    const done = Promise.withResolvers<Result>();
    waiting.push({ item, done, inContext: AsyncLocalStorage.snapshot() });
    serveMore();
    return done.promise;
  };
}

async function serveBatch<Item, Result>(
  batch: readonly Waiting<Item, Result>[],
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
): Promise<void> {
  try {
    const items = batch.map(({ item }) => item);
    const results = await (batch[0]?.inContext(() => work(items)) ?? []);
    for (const [at, { done }] of batch.entries()) done.resolve(results[at] as Result);
  } catch (error) {
    for (const { done } of batch) done.reject(error);
  }
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
