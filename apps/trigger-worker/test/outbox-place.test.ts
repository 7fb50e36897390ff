import { expect, test } from 'vitest';
import { createOutboxPlace } from '../src/outbox-place.ts';

test('looks begin a little behind what was taken last, and four times a second at the very beginning', () => {
  let now = 0;
  const place = createOutboxPlace(() => now);
  const from = () => place.look().from;
  const looks = (): string[] => [from(), from()];

  expect(looks()).toEqual(['0', '0']);
  place.took(['1500', '90']);
  expect(from()).toBe('0');
  place.took(['9007199254740999', '9007199254740993']); // beyond what a double can tell apart
  expect(looks()).toEqual(['9007199254738999', '9007199254738999']);
  now = 249;
  expect(from()).toBe('9007199254738999');
  now = 250;
  expect(looks()).toEqual(['0', '9007199254738999']);
  place.took(['3000']); // something older that was put back
  expect(from()).toBe('9007199254738999');
});

test('looks at the very beginning take a tenth of the time, however long each takes', () => {
  let now = 0;
  const place = createOutboxPlace(() => now);
  place.took(['5000']);
  const isWhole = (tookMs: number): boolean => {
    const look = place.look();
    now += tookMs;
    look.ended();
    return look.from === '0';
  };

  expect(isWhole(1_000)).toBe(true);
  now = 9_999;
  expect(isWhole(0)).toBe(false);
  now = 10_000;
  expect(isWhole(20)).toBe(true); // a short one brings no longer pause than it takes
  now = 10_249;
  expect(isWhole(0)).toBe(false);
  now = 10_250;
  expect(isWhole(0)).toBe(true);
});
