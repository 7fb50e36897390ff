import { afterEach, expect, test, vi } from 'vitest';
import { createLog, createMetrics, every, shared } from '../src/index.ts';

const log = createLog({ service: 'test', level: 'fatal', instance: 'test' });
afterEach(() => {
  vi.useRealTimers();
});

/** Lines of these metrics, without comments. */
async function linesOf(metrics: { text(): Promise<string> }, name: string): Promise<string[]> {
  return (await metrics.text()).split('\n').filter((line) => line.startsWith(name));
}

test('a counter begins at 0 for the labels that are known, so that the first time is an increase', async () => {
  const metrics = createMetrics({ service: 'worker' });
  const pauses = metrics.counter({
    ...{ name: 'dueline_pauses_total', help: 'Pauses.', labels: ['kind', 'reason'] },
    from0: { kind: ['one', 'two'], reason: ['a', 'b'] },
  });
  pauses.inc({ kind: 'two', reason: 'b' });

  expect(await linesOf(metrics, 'dueline_pauses_total')).toEqual([
    'dueline_pauses_total{kind="one",reason="a",service="worker"} 0',
    'dueline_pauses_total{kind="one",reason="b",service="worker"} 0',
    'dueline_pauses_total{kind="two",reason="a",service="worker"} 0',
    'dueline_pauses_total{kind="two",reason="b",service="worker"} 1',
  ]);
});

test('what a process does again and again tells how often, how it ended, and when it last went well', async () => {
  vi.useFakeTimers({ now: 1_000_000_000 });
  const metrics = createMetrics({ service: 'worker' });
  let fails = false;
  const run = () => {
    if (fails) throw new Error('away');
  };
  const task = every({ name: 'sweep', log, metrics, intervalMs: 20_000, jitter: 0, run });
  await vi.advanceTimersByTimeAsync(20_000);
  fails = true;
  await vi.advanceTimersByTimeAsync(20_000);
  void task.stop();

  expect(await linesOf(metrics, 'dueline_task_runs_total')).toEqual([
    'dueline_task_runs_total{task="sweep",result="ok",service="worker"} 1',
    'dueline_task_runs_total{task="sweep",result="failed",service="worker"} 1',
  ]);
  expect(await linesOf(metrics, 'dueline_task_last_success')).toEqual([
    'dueline_task_last_success_timestamp_seconds{task="sweep",service="worker"} 1000020',
  ]);
  expect(await linesOf(metrics, 'dueline_task_interval')).toEqual([
    'dueline_task_interval_seconds{task="sweep",service="worker"} 20',
  ]);
  expect(await linesOf(metrics, 'dueline_task_seconds_count')).toHaveLength(1);
});

test('gauges of one scrape share a query, and the next scrape asks anew, also after a failure', async () => {
  const answers = [1, new Error('away'), 3];
  const ask = vi.fn(async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const read = shared(ask);

  expect(await Promise.all([read(), read()])).toEqual([1, 1]);
  await expect(Promise.all([read(), read()])).rejects.toThrow('away');
  expect(await read()).toBe(3);
  expect(ask).toHaveBeenCalledTimes(3);
});
