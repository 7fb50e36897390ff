/**
 * Gathers items while `work` is busy and hands them over together as soon as it is free: one item is served at once, a
 * flood in batches, and nothing ever waits for a timer.
 *
 * @param work Serves 1 to `maxItems` items. What it throws reaches every item of its batch.
 * @returns Serves one item; resolves with the result that `work` gave for it.
 */
export function gather<Item, Result>(
  work: (items: readonly Item[]) => Promise<readonly Result[]>,
  maxItems: number,
): (item: Item) => Promise<Result> {
  const waiting: { item: Item; done: PromiseWithResolvers<Result> }[] = [];
  let busy = false;
  const serve = async () => {
    busy = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxItems);
      try {
        const results = await work(batch.map(({ item }) => item));
        for (const [at, { done }] of batch.entries()) done.resolve(results[at] as Result);
      } catch (error) {
        for (const { done } of batch) done.reject(error);
      }
    }
    busy = false;
  };
  return (item) => {
    const done = Promise.withResolvers<Result>();
    waiting.push({ item, done });
    if (!busy) void serve();
    return done.promise;
  };
}
