import { expect, test } from 'vitest';
import { planRun, type Size } from '../src/plan.ts';

const SIZE: Size = { seed: 1, actions: 2_000, processes: 3, kills: 7, stops: 5, messages: 100, leaseMs: 3_000 };

test('the same seed makes the same schedule, another seed another one', () => {
  expect(planRun(SIZE)).toEqual(planRun({ ...SIZE }));
  expect(planRun({ ...SIZE, seed: 2 })).not.toEqual(planRun(SIZE));
});

test('a schedule has as much of everything as was asked for', () => {
  const { actions, batches, kills, stops, repeats, losses, doubles } = planRun(SIZE);

  expect(actions.map(({ n }) => n)).toEqual(Array.from({ length: 2_000 }, (_, n) => n));
  expect(batches.reduce((sum, { count }) => sum + count, 0)).toBe(2_000);
  expect(kills).toHaveLength(7);
  expect(stops).toHaveLength(5);
  expect(repeats.length + losses + doubles).toBe(100);
});

test('whatever is frozen is frozen for longer than its lease, and what is repeated is of one account', () => {
  const { actions, stops, repeats } = planRun(SIZE);

  for (const { forMs } of stops) expect(forMs).toBeGreaterThan(3_000);
  for (const { ns } of repeats) expect(new Set(ns.map((n) => actions[n]?.account)).size).toBe(1);
});

test('a schedule has every kind of action and of operation, and rivals', () => {
  const { actions, operations, clicks } = planRun(SIZE);
  const steps = operations.flatMap((operation) => operation.steps);

  expect(new Set(actions.map(({ kind }) => kind))).toEqual(new Set(['plain', 'checked', 'waiting']));
  expect(new Set(steps.map(({ kind }) => kind))).toEqual(
    new Set(['edit', 'postpone', 'fire_now', 'cancel', 'uncancel']),
  );
  expect(new Set(steps.map(({ hasRival }) => hasRival))).toEqual(new Set([true, false]));
  expect(clicks.length).toBeGreaterThan(100);
});
