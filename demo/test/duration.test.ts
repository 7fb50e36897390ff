import { expect, test } from 'vitest';
import { parseDuration } from '../src/duration.ts';

test.for([
  ['+3d', 259_200],
  ['+2h30m', 9_000],
  ['+45s', 45],
  ['+1d1h1m1s', 90_061],
] as const)('%s is %s seconds', ([text, seconds]) => {
  expect(parseDuration(text)).toBe(seconds);
});

test.for(['', '+', '3d', '-3d', '+3', '+0s', '+3d ', '+1s1d', '+3 days', '+1.5h'])('%j is refused', (text) => {
  expect(() => parseDuration(text)).toThrow('is not a time to move ahead by');
});
