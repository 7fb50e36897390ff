import { expect, test } from 'vitest';
import type { Standing } from '../src/measure/rounds.ts';
import { CPU_FIGURE, type Expectation, judge } from '../src/scenario.ts';

const standing = (name: string, figure: number, cpu = 1): Standing => ({
  ...{ name, settings: '', samples: [], lost: 0, doubled: 0 },
  figures: { 'actions/s': figure },
  cpu: { postgres: cpu / 2, apps: cpu / 2, all: cpu },
});

const standings = [standing('ours', 6_000, 1.5), standing('theirs', 10_000, 0.8)];
const higher: Expectation = {
  what: 'ratio',
  of: 'ours',
  to: 'theirs',
  figure: 'actions/s',
  better: 'higher',
  floor: 0.5,
  goal: 0.9,
};
const lower: Expectation = { what: 'cost', of: 'ours', figure: CPU_FIGURE, better: 'lower', floor: 1.8, goal: 1.4 };

test.each<[string, Expectation, number | undefined, string]>([
  ['above the floor and below the goal', higher, 0.6, 'floor'],
  ['above the goal', { ...higher, goal: 0.55 }, 0.6, 'goal'],
  ['exactly the floor', { ...higher, floor: 0.6 }, 0.6, 'floor'],
  ['below the floor', { ...higher, floor: 0.61 }, 0.6, 'missed'],
  [
    'without a goal, at the floor',
    { what: '', of: 'ours', figure: 'actions/s', better: 'higher', floor: 6_000 },
    6_000,
    'goal',
  ],
  ['cheaper than the floor, dearer than the goal', lower, 1.5, 'floor'],
  ['dearer than the floor', { ...lower, floor: 1.4 }, 1.5, 'missed'],
  ['the other one was not measured', { ...higher, to: 'nobody' }, undefined, 'not measured'],
])('an expectation is judged by its figure: %s', (_, expectation, value, verdict) => {
  expect(judge(standings, [expectation])).toEqual([{ ...expectation, value, verdict }]);
});
