import { expect, test } from 'vitest';
import { createOutboxPlace } from '../src/outbox-place.ts';

test('looks begin a little behind what was taken last, and four times a second at the very beginning', () => {
  let now = 0;
  const place = createOutboxPlace(() => now);
  const looks = (): string[] => [place.next(), place.next()];

  expect(looks()).toEqual(['0', '0']);
  place.took(['1500', '90']);
  expect(place.next()).toBe('0');
  place.took(['9007199254740999', '9007199254740993']); // beyond what a double can tell apart
  expect(looks()).toEqual(['9007199254738999', '9007199254738999']);
  now = 249;
  expect(place.next()).toBe('9007199254738999');
  now = 250;
  expect(looks()).toEqual(['0', '9007199254738999']);
  place.took(['3000']); // something older that was put back
  expect(place.next()).toBe('9007199254738999');
});
