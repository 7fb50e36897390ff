import { expect, test } from 'vitest';
import { lateness, median, percentile } from '../src/measure/statistics.ts';

test('a percentile is a value that was measured: the smallest that so many do not exceed', () => {
  const values = [5, 1, 4, 2, 3];
  expect([0, 20, 50, 99, 100].map((percent) => percentile(values, percent))).toEqual([1, 1, 3, 5, 5]);
});

test('the median of an even number of values is the mean of the middle two', () => {
  expect([median([3, 1, 2]), median([4, 1, 2, 3])]).toEqual([2, 2.5]);
});

test('what came before its time is counted, however little', () => {
  expect(lateness([-0.01, 0, 12]).early).toBe(1);
});

test('figures of nothing are refused', () => {
  expect(() => median([])).toThrow('nothing was measured');
  expect(() => percentile([], 50)).toThrow('nothing was measured');
});
