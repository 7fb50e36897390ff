import { expect, test, vi } from 'vitest';
import { cached } from '../src/cached.ts';

test('a value is loaded once per key until its time is over; a failure is not remembered', async () => {
  const load = vi.fn(async (key: string) => {
    if (load.mock.calls.length === 1) throw new Error('away');
    return `${key} ${load.mock.calls.length}`;
  });
  const get = cached(load, 40);

  await expect(get('a')).rejects.toThrow('away');
  const [first, second] = await Promise.all([get('a'), get('a')]);
  expect([first, second]).toEqual(['a 2', 'a 2']);
  expect(await get('b')).toBe('b 3');
  await vi.waitFor(async () => expect(await get('a')).toBe('a 4'), 15_000);
});
