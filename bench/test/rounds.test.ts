import { expect, test } from 'vitest';
import { type Contestant, runRounds, type Sample } from '../src/measure/rounds.ts';

const sample = (rate: number, foreignPercent = 3, faults: { lost?: number; doubled?: number } = {}): Sample => ({
  figures: { 'actions/s': rate },
  use: { wallSeconds: 1, seconds: { postgres: 0.5, apps: 0.25, bench: 9 }, foreignPercent },
  units: 5_000,
  ...{ lost: 0, doubled: 0 },
  ...faults,
});

const contestant = (name: string, samples: readonly Sample[], order: string[] = []): Contestant => {
  const left = [...samples];
  return {
    name,
    settings: '',
    run: async () => {
      order.push(name);
      const next = left.shift();
      if (next === undefined) throw new Error('no further round was expected');
      return next;
    },
  };
};

const options = { rounds: 3, tell: () => undefined, interrupted: new AbortController().signal };

test('contestants take turns, and a figure is the median of the rounds', async () => {
  const order: string[] = [];
  const [a, b] = await runRounds(
    [
      contestant('a', [sample(1), sample(5), sample(3)], order),
      contestant('b', [sample(7), sample(7), sample(7)], order),
    ],
    options,
  );
  expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  expect([a?.figures, b?.figures]).toEqual([{ 'actions/s': 3 }, { 'actions/s': 7 }]);
});

test('a round in which others used the machine is not counted, and is repeated', async () => {
  const [standing] = await runRounds([contestant('a', [sample(1, 60), sample(5), sample(6), sample(7)])], options);
  expect(standing?.figures).toEqual({ 'actions/s': 6 });
  expect(standing?.samples.map(({ isQuiet }) => isQuiet)).toEqual([false, true, true, true]);
});

test('on a machine that is never quiet all rounds are told, after twice as many as wanted', async () => {
  const [standing] = await runRounds(
    [
      contestant(
        'a',
        Array.from({ length: 6 }, () => sample(2, 60)),
      ),
    ],
    options,
  );
  expect(standing?.samples).toHaveLength(6);
  expect(standing?.samples.some(({ isQuiet }) => isQuiet)).toBe(false);
  expect(standing?.figures).toEqual({ 'actions/s': 2 });
});

test('processor time is told for 10,000 units, without what the bench used to watch', async () => {
  const [standing] = await runRounds([contestant('a', [sample(1), sample(1), sample(1)])], options);
  expect(standing?.cpu).toEqual({ postgres: 1, apps: 0.5, all: 1.5 });
});

test('what was lost or doubled in any round counts, also in one that was not quiet', async () => {
  const samples = [sample(1, 60, { lost: 2 }), sample(1), sample(1, 3, { doubled: 1 }), sample(1)];
  const [standing] = await runRounds([contestant('a', samples)], options);
  expect([standing?.lost, standing?.doubled]).toEqual([2, 1]);
});

test('an interrupted bench ends before the next contestant', async () => {
  const interrupted = new AbortController();
  interrupted.abort();
  const running = runRounds([contestant('a', [])], { ...options, interrupted: interrupted.signal });
  await expect(running).rejects.toThrow('interrupted');
});

test('a round in which processes were killed counts, whoever seems to have used the machine, and tells no processor time', async () => {
  const samples = Array.from({ length: 3 }, () => ({ ...sample(4, 60), isUseUnknown: true }));
  const [standing] = await runRounds([contestant('a', samples)], options);
  expect(standing).toMatchObject({ figures: { 'actions/s': 4 }, cpu: {} });
  expect(standing?.samples.every(({ isQuiet }) => isQuiet)).toBe(true);
});

const endless: Contestant = { name: 'a', settings: '', run: () => new Promise(() => undefined) };

test('a contestant that does not end is told by its name, after the limit', async () => {
  await expect(runRounds([endless], { ...options, limitMs: 60 })).rejects.toThrow(
    '"a" had not ended after 0.001 minutes',
  );
});

test('a contestant whose app is gone is not waited for', async () => {
  const broken = [new Promise<never>(() => undefined), Promise.reject(new Error('trigger-worker ended by itself'))];
  await expect(runRounds([endless], { ...options, broken })).rejects.toThrow('trigger-worker ended by itself');
});
