import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLog, every } from '../src/index.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function testLog(): { log: ReturnType<typeof createLog>; messages: string[] } {
  const messages: string[] = [];
  const destination = { write: (line: string) => void messages.push(JSON.parse(line).msg) };
  return { log: createLog({ service: 't', level: 'info', instance: 't', destination }), messages };
}

test('a job runs about every interval, within the jitter', async () => {
  const at: number[] = [];
  const { log } = testLog();
  const job = every({ intervalMs: 1_000, jitter: 0.2, run: () => at.push(performance.now()), log });
  const from = performance.now();

  await vi.advanceTimersByTimeAsync(60_000);
  await job.stop();

  const gaps = at.map((time, index) => time - (at[index - 1] ?? from));
  expect(at.length).toBeGreaterThan(45);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(800);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(1_201);
  expect(new Set(gaps).size).toBeGreaterThan(10);
});

test('a failing job is told once, tried again sooner, and told once when it works', async () => {
  const { log, messages } = testLog();
  let failing = true;
  let runs = 0;
  const job = every({
    intervalMs: 10_000,
    run: () => {
      runs += 1;
      if (failing) throw new Error('away');
    },
    log,
  });

  await vi.advanceTimersByTimeAsync(40_000);
  const tries = runs;
  failing = false;
  await vi.advanceTimersByTimeAsync(20_000);
  await job.stop();

  expect(tries).toBeGreaterThan(8);
  expect(tries).toBeLessThan(20);
  expect(messages).toEqual(['a repeated job fails and is tried again', 'a repeated job works again']);
});

test('stop waits for the running job and ends the timer', async () => {
  const { log } = testLog();
  const running = Promise.withResolvers<void>();
  const job = every({ intervalMs: 10, run: () => running.promise, log });
  await vi.advanceTimersByTimeAsync(20);
  let stopped = false;

  const stop = job.stop().then(() => {
    stopped = true;
  });
  await vi.advanceTimersByTimeAsync(100);
  expect(stopped).toBe(false);
  running.resolve();
  await stop;

  expect(vi.getTimerCount()).toBe(0);
});

test('an interval that is longer than a timer holds is no hurry [SEM-009]', async () => {
  let runs = 0;
  const job = every({ intervalMs: 31 * 86_400_000, run: () => (runs += 1), log: testLog().log });

  await vi.advanceTimersByTimeAsync(86_400_000);
  expect(runs).toBe(0);
  await vi.advanceTimersByTimeAsync(30 * 86_400_000);
  await job.stop();
  expect(runs).toBe(1);
});
