import { expect, test } from 'vitest';
import { startsInSeconds } from '../src/chunk-times.ts';

test.for([
  [0, null, 0],
  [140, null, 0],
  [280, null, 1],
  [1_999, null, 13.3],
  [0, 1_000, 0],
  [1, 1_000, 30],
  [1_999, 10_000_000, 13.3],
] as const)(
  'chunk %i of a campaign at %s people a minute begins after %d seconds',
  ([chunkNo, maxPerMinute, seconds]) => {
    expect(startsInSeconds(chunkNo, maxPerMinute)).toBeCloseTo(seconds, 1);
  },
);
