import { createLookAgain } from '@dueline/runtime';
import { expect, test } from 'vitest';

test('after a find one looks again, ever less often, and then leaves it to the poll', () => {
  let now = 1_000;
  const again = createLookAgain(() => now);
  expect(again.waits()).toEqual([]);

  again.found();
  expect(again.waits()).toEqual([5, 15, 35, 75, 155, 315, 635]);
  now += 100;
  expect(again.waits()).toEqual([55, 215, 535]);
  now += 600;
  expect(again.waits()).toEqual([]);
});

test('another find begins anew', () => {
  let now = 0;
  const again = createLookAgain(() => now);
  again.found();
  now += 500;
  again.found();

  expect(again.waits()).toHaveLength(7);
});
