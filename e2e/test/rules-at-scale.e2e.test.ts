import { test } from 'vitest';
import { expectSameDecisions } from './rules-at-scale/expect.ts';
import type { Deaths } from './rules-at-scale/prove.ts';
import { setStage } from './rules-at-scale/stage.ts';

const DEATHS: Deaths = [
  ['trigger-worker', 0.2],
  ['pg-listener', 0.4],
  ['trigger-worker', 0.6],
  ['pg-listener', 0.7],
];

test('10,000 people change under 20 rules while listeners and workers are killed: what plain SQL computes is decided, once, and nothing else', async () => {
  await using stage = await setStage(10_000);
  await expectSameDecisions(stage, { deaths: DEATHS, patienceMs: 300_000 });
}, 600_000);
