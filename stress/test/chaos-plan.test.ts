import { expect, test } from 'vitest';
import { FAULTS, HOLDS_REQUESTS } from '../src/chaos/faults.ts';
import { planChaos, type Size } from '../src/chaos/plan.ts';

const SIZE: Size = { seed: 1, minutes: 1, leaseMs: 4_000, forgetsKeys: false };
const SEEDS = Array.from({ length: 20 }, (_, n) => planChaos({ ...SIZE, seed: n + 1 }));

test('the same seed makes the same schedule, another seed another one', () => {
  expect(planChaos(SIZE)).toEqual(planChaos({ ...SIZE }));
  expect(planChaos({ ...SIZE, seed: 2 })).not.toEqual(planChaos(SIZE));
});

test('within a few minutes every fault is played', () => {
  const played = planChaos({ ...SIZE, minutes: 3 }).weather.flatMap(({ faults }) => faults);

  expect(new Set(played)).toEqual(new Set(FAULTS));
});

test('whatever is frozen is frozen for longer than its lease, no sender while LINE may hold its requests', () => {
  for (const { stops, weather } of SEEDS) {
    for (const { role, atMs, forMs } of stops) {
      expect(forMs).toBeGreaterThan(SIZE.leaseMs);
      if (role !== 'line-delivery') continue;
      const held = weather.filter(
        (sky, at) =>
          sky.atMs < atMs + forMs &&
          (weather[at + 1]?.atMs ?? Number.POSITIVE_INFINITY) > atMs &&
          sky.faults.some((fault) => HOLDS_REQUESTS.has(fault)),
      );
      expect(held).toEqual([]);
    }
  }
});

test('when the day passes nobody dies, nothing is written, and LINE takes nothing', () => {
  for (const { nightMs, kills, stops, waves, weather } of SEEDS) {
    const isThen = ({ atMs, forMs = 0 }: { atMs: number; forMs?: number }) =>
      atMs + forMs > nightMs - 6_000 && atMs < nightMs;
    expect([...kills, ...stops, ...waves].filter(isThen)).toEqual([]);
    expect(weather.findLast(({ atMs }) => atMs <= nightMs)?.rules.map(({ id }) => id)).toEqual([
      'F08.dark',
      'F02.dark',
    ]);
  }
});

test('a LINE that forgets keys forgets them in any weather but the dark', () => {
  const { weather } = planChaos({ ...SIZE, forgetsKeys: true });

  expect(weather.filter(({ rules }) => rules[0]?.id === 'F28')).toHaveLength(weather.length - 1);
});
