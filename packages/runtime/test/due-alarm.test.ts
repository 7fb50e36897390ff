import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createDueAlarm, createLog, type DueAlarm, type DueAlarmOptions } from '../src/index.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(async () => {
  await alarm?.stop();
  vi.useRealTimers();
});

let alarm: DueAlarm | undefined;

type World = {
  /** Instants at which rows come due, by the database's clock. */
  rows: number[];
  readonly taken: { due: number; at: number }[];
  runs: number;
  looks: number;
  readonly lines: { msg: string; job: string }[];
  fail: 'run' | 'look' | undefined;
};

function startAlarm(given: Partial<DueAlarmOptions> = {}, clockAheadMs = 0): World {
  const world: World = { rows: [], taken: [], runs: 0, looks: 0, lines: [], fail: undefined };
  const log = createLog({
    service: 'test',
    level: 'info',
    instance: 'test',
    destination: { write: (line) => void world.lines.push(JSON.parse(line)) },
  });
  const databaseNow = (): number => performance.now() + clockAheadMs;
  alarm = createDueAlarm({
    log,
    async lookAhead(withinMs) {
      world.looks += 1;
      if (world.fail === 'look') throw new Error('away');
      return world.rows.map((due) => due - databaseNow()).filter((ms) => ms <= withinMs);
    },
    async run() {
      world.runs += 1;
      if (world.fail === 'run') throw new Error('away');
      const due = world.rows.filter((row) => row <= databaseNow());
      world.rows = world.rows.filter((row) => !due.includes(row));
      world.taken.push(...due.map((row) => ({ due: row, at: databaseNow() })));
      return due.length > 0;
    },
    ...given,
  });
  return world;
}

const lateness = (world: World): number[] => world.taken.map(({ due, at }) => at - due);

test('each row is taken within two milliseconds after it came due, never before', async () => {
  const world = startAlarm();
  const now = performance.now();
  world.rows = [0.4, 37, 37.2, 950.9, 1_000, 1_001.5, 2_500.3, 4_999].map((ms) => now + ms);

  await vi.advanceTimersByTimeAsync(6_000);

  expect(world.taken).toHaveLength(8);
  for (const late of lateness(world)) {
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThanOrEqual(2);
  }
});

test.each([-0.9, 0.9])('a row is not left to the next second when the clocks differ by %d ms', async (ahead) => {
  let skewed = 0;
  const world = startAlarm({
    lookAhead: async () => world.rows.map((due) => due - performance.now() - ahead * (skewed++ % 2)),
  });
  world.rows = [100, 200, 300].map((ms) => performance.now() + ms);

  await vi.advanceTimersByTimeAsync(400);

  expect(world.taken).toHaveLength(3);
  for (const late of lateness(world)) expect(late).toBeLessThanOrEqual(3);
});

test('rows of the same millisecond cost one timer', async () => {
  const world = startAlarm();
  await vi.advanceTimersByTimeAsync(1);
  world.rows = Array.from({ length: 500 }, (_, index) => performance.now() + 1_500.1 + index / 1_000);
  await vi.advanceTimersByTimeAsync(1_000);
  const before = world.runs;
  await vi.advanceTimersByTimeAsync(600);

  expect(world.taken).toHaveLength(500);
  expect(world.runs - before).toBeLessThanOrEqual(3);
});

test('a row added with a wake is taken on time even between two looks', async () => {
  const world = startAlarm();
  await vi.advanceTimersByTimeAsync(300);

  world.rows = [performance.now() + 250];
  alarm?.wake();
  await vi.advanceTimersByTimeAsync(252);

  expect(lateness(world)).toHaveLength(1);
});

test('an idle alarm looks once a second and runs once a minute', async () => {
  const world = startAlarm();
  await vi.advanceTimersByTimeAsync(100);
  const { runs, looks } = world;

  await vi.advanceTimersByTimeAsync(120_000);

  expect(world.runs - runs).toBe(2);
  expect(world.looks - looks).toBeGreaterThanOrEqual(115);
  expect(world.looks - looks).toBeLessThanOrEqual(123);
});

test('a due row that cannot be had for long is tried every second or so, however long the database takes to answer', async () => {
  const world = startAlarm({
    lookAhead: async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return [-60_000];
    },
    run: async () => {
      world.runs += 1;
      return false;
    },
  });
  await vi.advanceTimersByTimeAsync(10_000); // the waits have grown to the longest one
  const before = world.runs;

  await vi.advanceTimersByTimeAsync(10_000);

  expect(world.runs - before).toBeGreaterThanOrEqual(9);
});

test('a due row that another claimer holds is tried ever more rarely, and other rows stay on time', async () => {
  const world = startAlarm({
    run: async () => {
      world.runs += 1;
      const mine = world.rows.filter((row) => row <= performance.now() && row !== held);
      world.rows = world.rows.filter((row) => !mine.includes(row));
      world.taken.push(...mine.map((due) => ({ due, at: performance.now() })));
      return mine.length > 0;
    },
  });
  await vi.advanceTimersByTimeAsync(10);
  const held = performance.now() + 5;
  world.rows = [held, performance.now() + 3_000.5];
  alarm?.wake();

  await vi.advanceTimersByTimeAsync(10_000);

  expect(world.runs).toBeLessThan(45);
  expect(world.runs).toBeGreaterThan(15);
  expect(lateness(world)[0]).toBeLessThanOrEqual(2);
});

test('a wake during a run makes exactly one more run, and runs never overlap', async () => {
  let inside = 0;
  let most = 0;
  let runs = 0;
  startAlarm({
    clockless: true,
    async run() {
      runs += 1;
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 100));
      inside -= 1;
      return false;
    },
  });
  alarm?.wake();
  await vi.advanceTimersByTimeAsync(50);

  for (let wake = 0; wake < 5; wake += 1) alarm?.wake();
  await vi.advanceTimersByTimeAsync(1_000);

  expect({ runs, most }).toEqual({ runs: 2, most: 1 });
});

test('a run that found something is repeated until nothing is due', async () => {
  let left = 5;
  let runs = 0;
  startAlarm({
    clockless: true,
    run: async () => {
      runs += 1;
      left -= 1;
      return left > 0;
    },
  });

  alarm?.wake();
  await vi.advanceTimersByTimeAsync(0);

  expect(runs).toBe(5);
});

test.each(['run', 'look'] as const)(
  'an error of the %s is told once, retried with back-off, and healed',
  async (what) => {
    const world = startAlarm();
    await vi.advanceTimersByTimeAsync(10);
    world.fail = what;
    world.rows = [performance.now() + 1_100];
    alarm?.wake();

    await vi.advanceTimersByTimeAsync(30_000);
    const failing = [...world.lines];
    const tries = what === 'run' ? world.runs : world.looks;
    world.fail = undefined;
    await vi.advanceTimersByTimeAsync(6_000);

    expect(failing.map((line) => line.msg)).toEqual(['a repeated job fails and is tried again']);
    expect(tries).toBeLessThan(25);
    expect(tries).toBeGreaterThan(8);
    expect(world.lines.map((line) => line.msg).slice(1)).toEqual(['a repeated job works again']);
    expect(world.taken).toHaveLength(1);
  },
);

test('wakes do not break through the back-off of a failing run', async () => {
  const world = startAlarm();
  world.fail = 'run';

  for (let wake = 0; wake < 1_000; wake += 1) {
    alarm?.wake();
    await vi.advanceTimersByTimeAsync(10);
  }

  expect(world.runs).toBeLessThan(15);
});

test('stop waits for the running run and begins no other', async () => {
  const ended = Promise.withResolvers<boolean>();
  let runs = 0;
  startAlarm({
    run: () => {
      runs += 1;
      return ended.promise;
    },
  });
  let stopped = false;

  const stop = alarm?.stop().then(() => {
    stopped = true;
  });
  alarm?.wake();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(stopped).toBe(false);
  ended.resolve(true);
  await stop;
  await vi.advanceTimersByTimeAsync(5_000);

  expect(runs).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('no timer is longer than a minute [SEM-009]', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  startAlarm({ readEveryMs: 600_000, lookAheadMs: 700_000, sweepEveryMs: 600_000 });

  await vi.advanceTimersByTimeAsync(300_000);

  const waits = timers.mock.calls.map((call) => Number(call[1]));
  expect(Math.max(...waits)).toBeLessThanOrEqual(60_000);
  timers.mockRestore();
});
