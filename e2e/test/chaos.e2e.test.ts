import { expect, test } from 'vitest';
import { EVERYBODY_ACCOUNTED_FOR, expectDoubled, runChaos } from './stress-support.ts';

/** Small enough for every change; `.ci/nightly` runs seeds 1 to 20 for a minute each, and the other plants. */
const SMALL = ['--minutes', '0.3'];
/** Several times what two idle cores take. */
const PATIENCE = { timeout: 240_000 };

test(
  'seed 1 of the chaos: LINE fails in many ways while processes die, and everybody is accounted for [T34]',
  PATIENCE,
  async () => {
    const { code, result } = await runChaos(1, SMALL);

    expect(result).toMatchObject(EVERYBODY_ACCOUNTED_FOR);
    expect(result.planned).toBeGreaterThan(500);
    expect(result.states.accepted).toBeGreaterThan(0);
    expect(result.kills + result.stops).toBeGreaterThan(0);
    expect(Object.keys(result.faults).length).toBeGreaterThan(5);
    expect(code).toBe(0);
  },
);

test(
  'when every attempt has a retry key of its own, the same chaos shows people who received twice [T35]',
  PATIENCE,
  () => expectDoubled([...SMALL, '--plant', 'random-keys']),
);
