import { test } from 'vitest';
import { expectSameDecisions } from './rules-at-scale/expect.ts';
import type { Deaths } from './rules-at-scale/prove.ts';
import { setStage } from './rules-at-scale/stage.ts';

/** In turns, from a twelfth of the events to eleven. */
const DEATHS: Deaths = Array.from({ length: 11 }, (_, n) => [
  n % 2 === 0 ? 'trigger-worker' : 'pg-listener',
  (n + 1) / 12,
]);

test('200,000 people change under 20 rules while listeners and workers are killed: what plain SQL computes is decided, once, and nothing else', async () => {
  await using stage = await setStage(200_000);
  await expectSameDecisions(stage, { deaths: DEATHS, patienceMs: 3_600_000 });
}, 7_200_000);
