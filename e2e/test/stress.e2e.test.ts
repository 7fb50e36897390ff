import { expect, test } from 'vitest';
import { runStress } from './stress-support.ts';

/** Small enough for every change; `.ci/nightly` runs seeds 1 to 20 at full size. */
const SMALL = ['--actions', '1500', '--processes', '2', '--kills', '4', '--stops', '2', '--messages', '80'];
/** Several times what two idle cores take. */
const PATIENCE = { timeout: 180_000 };

test.for([1, 2])(
  'seed %i of the stress ends every action as it had to end, whatever dies or gets lost',
  PATIENCE,
  async (seed) => {
    const { code, result } = await runStress(seed, SMALL);

    expect(result).toMatchObject({ violations: 0, samples: {}, actions: 1_500, kills: 4, stops: 2 });
    expect(result.received + result.cancelled).toBe(1_500);
    expect(result.lost).toBeGreaterThan(0);
    expect(result.duplicated).toBeGreaterThan(0);
    expect(code).toBe(0);
  },
);

test('without the fence the same stress shows violations', PATIENCE, async () => {
  const { code, result } = await runStress(1, [...SMALL, '--no-fence']);

  expect(result.violations).toBeGreaterThan(0);
  expect(code).toBe(1);
});
