import { expect } from 'vitest';
import { outcomesExpected } from './compare.ts';
import { type Deaths, proveDecisions } from './prove.ts';
import type { Stage } from './stage.ts';

const OUTCOMES = [
  ...['fired matched', 'not_matched conditions_not_met', 'not_matched value_not_matched', 'observed matched'],
  ...['scheduled matched', 'suppressed entered_before', 'suppressed frequency', 'suppressed user_not_following'],
];

/** Both ways and with every repetition the same; and the comparison notices what somebody meddled with. */
export async function expectSameDecisions(
  stage: Stage,
  options: { deaths: Deaths; patienceMs: number },
): Promise<void> {
  const { differences, meddled, ...figures } = await proveDecisions(stage, options);
  const { outcomes, acting } = await outcomesExpected(stage.db);
  process.stdout.write(`${JSON.stringify({ ...figures, ...differences })}\n`);
  for (const [what, { expected, missing, surplus }] of Object.entries(differences)) {
    expect.soft({ what, missing, surplus }).toEqual({ what, missing: 0, surplus: 0 });
    expect.soft(expected, what).toBeGreaterThan(0);
  }
  expect(outcomes).toEqual(OUTCOMES);
  expect(acting).toBe(stage.rules.length);
  expect(figures.kills).toBe(options.deaths.length);
  expect(meddled).toMatchObject({
    decisions: { missing: 1, surplus: 1 },
    notMatched: { missing: 1, surplus: 1 },
    messages: { missing: 1, surplus: 1 },
    events: { missing: 0, surplus: 0 },
  });
}
