import { expect, test } from 'vitest';
import { createLookAgain } from '../src/look-again.ts';

test('after a find the outbox is looked at again, ever less often, and then left to the poll', () => {
  let now = 1_000;
  const again = createLookAgain(() => now);
  expect(again.waits()).toEqual([]);

  again.found();
  expect(again.waits()).toEqual([10, 30, 70, 150, 310, 630]);
  now += 100;
  expect(again.waits()).toEqual([50, 210, 530]);
  now += 600;
  expect(again.waits()).toEqual([]);
});

test('another find begins anew', () => {
  let now = 0;
  const again = createLookAgain(() => now);
  again.found();
  now += 500;
  again.found();

  expect(again.waits()).toHaveLength(6);
});
