import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  BURST_MS,
  type BucketState,
  FRESH,
  GROWTH_MS,
  HALVING_WINDOW_MS,
  halve,
  LEAST_SHARE,
  MAX_WAIT_MS,
  putBack,
  QUIET_MS,
  shareNow,
  take,
} from '../../src/limits/bucket.ts';

const START = 1_000_000;
const RATES = [1, 2, 7, 140, 1_400];

/** Requests for permits, each so many milliseconds after the one before. */
const requests = fc.array(
  fc.record({ afterMs: fc.integer({ min: 0, max: 400 }), count: fc.integer({ min: 1, max: 100 }) }),
  {
    minLength: 1,
    maxLength: 60,
  },
);

/** When each permit became good. */
function play(asked: readonly { afterMs: number; count: number }[], perSecond: number): number[] {
  let state: BucketState = FRESH;
  let nowMs = START;
  return asked.flatMap(({ afterMs, count }) => {
    nowMs += afterMs;
    const taken = take(state, { nowMs, count, perSecond });
    state = taken.state;
    const goodAt = nowMs + taken.permits.waitMs;
    return Array.from({ length: taken.permits.granted }, () => goodAt);
  });
}

test('whatever is asked for and when, no time t sees more than rate · t permits and a burst, or a single request', () => {
  fc.assert(
    fc.property(requests, fc.constantFrom(...RATES), (asked, perSecond) => {
      const good = Map.groupBy(play(asked, perSecond), (atMs) => atMs);
      const atOnce = Math.max((perSecond * BURST_MS) / 1_000, 1, ...asked.map(({ count }) => count));
      for (const from of good.keys()) {
        let seen = 0;
        for (const to of [...good.keys()].filter((atMs) => atMs >= from).sort((a, b) => a - b)) {
          seen += good.get(to)?.length ?? 0;
          if (seen > (perSecond * (to - from + 1)) / 1_000 + atOnce + 1e-6) return false; // waits are whole milliseconds
        }
      }
      return true;
    }),
  );
});

test('who asks again and again gets the whole rate', () => {
  const everyTenMs = Array.from({ length: 500 }, () => ({ afterMs: 10, count: 30 }));
  const good = play(everyTenMs, 1_400).filter((atMs) => atMs < START + 5_000);
  expect(good.length).toBeGreaterThan(1_400 * 4.9);
});

test('nobody is given a permit that is more than a second away, not even after the clock was set back an hour', () => {
  fc.assert(
    fc.property(requests, fc.constantFrom(...RATES), fc.constantFrom(0, 3_600_000), (asked, perSecond, backMs) => {
      let state: BucketState = FRESH;
      let nowMs = START + backMs;
      asked.forEach(({ afterMs, count }, n) => {
        nowMs += n === 1 ? -backMs : afterMs;
        const { permits, state: after } = take(state, { nowMs, count, perSecond });
        state = after;
        expect(permits.waitMs).toBeLessThanOrEqual(MAX_WAIT_MS);
      });
      expect(take(state, { nowMs: nowMs + 3_000, count: 1, perSecond }).permits.granted).toBe(1);
    }),
  );
});

test('the 429s of one burst halve the rate once; those of a later one again, down to a sixty-fourth', () => {
  const once = halve(FRESH, START);
  expect(once).toMatchObject({ halved: true, share: 0.5 });
  expect(halve(once.state, START + HALVING_WINDOW_MS - 1)).toMatchObject({ halved: false, share: 0.5 });
  expect(halve(once.state, START + HALVING_WINDOW_MS)).toMatchObject({ halved: true, share: 0.25 });

  let state: BucketState = FRESH;
  for (let n = 0; n < 20; n += 1) state = halve(state, START + n * HALVING_WINDOW_MS).state;
  expect(state.share).toBe(LEAST_SHARE);
});

test('after a quiet time the rate grows evenly to the ceiling, and no further', () => {
  const { state } = halve(FRESH, START);
  const shares = [0, QUIET_MS, QUIET_MS + GROWTH_MS / 4, QUIET_MS + GROWTH_MS / 2, 10 * GROWTH_MS].map((afterMs) =>
    shareNow(state, START + afterMs),
  );
  expect(shares).toEqual([0.5, 0.5, 0.75, 1, 1]);
});

test('half the rate gives half the permits', () => {
  const { state } = halve(FRESH, START);
  const all = take(FRESH, { nowMs: START, count: 10_000, perSecond: 1_000 }).permits.granted;
  const half = take(state, { nowMs: START, count: 10_000, perSecond: 1_000 }).permits.granted;
  expect([all, half]).toEqual([1_100, 550]); // a second, and a burst
});

test('what is put back comes again a second later at the soonest, one behind the other, within the hour', () => {
  const first = putBack(FRESH, { nowMs: START, count: 140, perSecond: 140 });
  const second = putBack(first.state, { nowMs: START, count: 1_000_000, perSecond: 140 });
  const third = putBack(second.state, { nowMs: START, count: 1, perSecond: 140 });
  expect([first.firstMs, second.firstMs, third.firstMs]).toEqual([1_000, 2_000, 3_600_000]);
});
