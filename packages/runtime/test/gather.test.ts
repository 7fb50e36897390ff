import { expect, test } from 'vitest';
import { gather } from '../src/gather.ts';

test('one item is served at once, what comes meanwhile together, each with its own result', async () => {
  const batches: number[][] = [];
  const release = Promise.withResolvers<void>();
  const double = gather(async (items: readonly number[]) => {
    batches.push([...items]);
    if (batches.length === 1) await release.promise;
    return items.map((item) => item * 2);
  }, 3);

  const results = [1, 2, 3, 4, 5].map((item) => double(item));
  release.resolve();

  expect(await Promise.all(results)).toEqual([2, 4, 6, 8, 10]);
  expect(batches).toEqual([[1], [2, 3, 4], [5]]);
});

test('an error reaches every item of its batch and no other', async () => {
  let batch = 0;
  const serve = gather(async (items: readonly string[]) => {
    batch += 1;
    if (batch === 2) throw new Error('second batch');
    return items;
  }, 10);

  const results = await Promise.allSettled([serve('a'), serve('b'), serve('c')]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  expect(await serve('d')).toBe('d');
});
