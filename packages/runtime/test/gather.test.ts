import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { gather } from '../src/index.ts';

test('one item is served at once, what comes meanwhile together, each with its own result', async () => {
  const batches: number[][] = [];
  const release = Promise.withResolvers<void>();
  const double = gather(
    async (items: readonly number[]) => {
      batches.push([...items]);
      if (batches.length === 1) await release.promise;
      return items.map((item) => item * 2);
    },
    { maxSize: 3 },
  );

  const results = [1, 2, 3, 4, 5].map((item) => double(item));
  release.resolve();

  expect(await Promise.all(results)).toEqual([2, 4, 6, 8, 10]);
  expect(batches).toEqual([[1], [2, 3, 4], [5]]);
});

test('an error reaches every item of its batch and no other', async () => {
  let batch = 0;
  const serve = gather(
    async (items: readonly string[]) => {
      batch += 1;
      if (batch === 2) throw new Error('second batch');
      return items;
    },
    { maxSize: 10 },
  );

  const results = await Promise.allSettled([serve('a'), serve('b'), serve('c')]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(await serve('d')).toBe('d');
});

test('a batch holds what fits its size, several are served at once, and each in the context of its first item', async () => {
  const context = new AsyncLocalStorage<string>();
  const batches: { names: string[]; context: string | undefined }[] = [];
  const release = Promise.withResolvers<void>();
  const serve = gather(
    async (items: readonly { name: string; size: number }[]) => {
      batches.push({ names: items.map(({ name }) => name), context: context.getStore() });
      if (batches.length <= 2) await release.promise;
      return items;
    },
    { maxSize: 10, sizeOf: ({ size }) => size, atOnce: 2 },
  );

  const sizes = { a: 1, b: 1, c: 4, d: 6, e: 11, f: 3 };
  const served = Object.entries(sizes).map(([name, size]) => context.run(name, () => serve({ name, size })));
  expect(batches).toHaveLength(2);
  release.resolve();

  expect(await Promise.all(served)).toHaveLength(6);
  expect(batches).toEqual([
    { names: ['a'], context: 'a' },
    { names: ['b'], context: 'b' },
    { names: ['c', 'd'], context: 'c' },
    { names: ['e'], context: 'e' },
    { names: ['f'], context: 'f' },
  ]);
});

test('of a stream what comes while a batch settles is served with it, and more than fits beside it; after a pause an item is served at once', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(1_000);
  onTestFinished(() => clock.mockRestore());
  const batches: string[][] = [];
  const serve = gather(
    async (items: readonly string[]) => {
      batches.push([...items]);
      return items;
    },
    { maxSize: 2, atOnce: 2, settleMs: 5 },
  );

  const first = serve('a');
  expect(batches).toEqual([['a']]);
  clock.mockReturnValue(1_010);
  const stream = ['b', 'c', 'd'].map((item) => serve(item));
  expect(batches).toEqual([['a']]);
  expect(await Promise.all([first, ...stream])).toEqual(['a', 'b', 'c', 'd']);
  expect(batches).toEqual([['a'], ['b', 'c'], ['d']]);

  clock.mockReturnValue(1_031);
  await setImmediate(); // both are free again
  void serve('e');
  expect(batches.at(-1)).toEqual(['e']);
});
